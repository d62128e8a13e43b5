// From tiles of numbers to pictures: predictions and confidence, labels with dots on those too small to see.

export const VOID = 254;
export const NONE = 255;
const ACCEPTED = 2;
const DOT_OF_AT_MOST = 12; // labelled pixels that hang together
const VIRIDIS = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];

/** Red, green and blue of a tile as arrays of its pixels. @param {ImageBitmap} picture */
export function numbersOf(picture) {
  const { width, height } = picture;
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.drawImage(picture, 0, 0);
  const { data } = context.getImageData(0, 0, width, height);
  const count = width * height;
  const [ids, second] = [new Uint8Array(count), new Uint8Array(count)];
  for (let at = 0; at < count; at += 1) {
    ids[at] = data[4 * at];
    second[at] = data[4 * at + 1];
  }
  picture.close();
  return { width, height, ids, second, look: "", picture: canvas };
}

/** A colour as the canvas keeps it in 32 bits. */
function packed([red, green, blue], alpha = 255) {
  return ((alpha << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/** @param {{id: number, colour: number[]}[]} classes */
function tableOf(classes, alone = null) {
  const table = new Uint32Array(256);
  for (const { id, colour } of classes) if (alone === null || alone === id) table[id] = packed(colour);
  return table;
}

function put(tile, paint) {
  const context = tile.picture.getContext("2d");
  const image = context.createImageData(tile.width, tile.height);
  paint(new Uint32Array(image.data.buffer));
  context.putImageData(image, 0, 0);
}

/**
 * The picture of a tile of predictions, painted again only if it has to look different.
 * @param {{classes: any[], layer: string, outlines: boolean, alone: number | null}} look
 */
export function predictionPicture(tile, { classes, layer, outlines, alone }) {
  const look = JSON.stringify([layer, outlines, alone, classes.map(({ id, colour }) => [id, colour])]);
  if (tile.look === look) return tile.picture;
  tile.look = look;
  const { width, ids, second } = tile;
  const table = layer === "confidence" ? viridis() : tableOf(classes, alone);
  put(tile, (pixels) => {
    for (let at = 0; at < pixels.length; at += 1) {
      if (layer === "confidence") pixels[at] = alone === null || ids[at] === alone ? table[second[at]] : 0;
      else if (!outlines || isEdge(ids, width, at)) pixels[at] = table[ids[at]];
    }
  });
  return tile.picture;
}

/** Whether a neighbour is of another class. */
function isEdge(ids, width, at) {
  const id = ids[at];
  const column = at % width;
  return (
    (column > 0 && ids[at - 1] !== id) || (column < width - 1 && ids[at + 1] !== id) ||
    (at >= width && ids[at - width] !== id) || (at + width < ids.length && ids[at + width] !== id)
  );
}

let viridisTable = null;

function viridis() {
  viridisTable ??= Uint32Array.from({ length: 256 }, (_, value) => {
    const at = (value / 255) * (VIRIDIS.length - 1);
    const low = Math.min(Math.floor(at), VIRIDIS.length - 2);
    return packed(VIRIDIS[low].map((part, band) => Math.round(part + (at - low) * (VIRIDIS[low + 1][band] - part))));
  });
  return viridisTable;
}

/** The picture of a tile of labels: by hand full, accepted ones half, void striped. */
export function labelPicture(tile, classes) {
  const look = JSON.stringify(classes.map(({ id, colour }) => [id, colour]));
  if (tile.look === look) return tile.picture;
  tile.look = look;
  const { width, ids, second } = tile;
  const full = tableOf(classes);
  const half = full.map((colour) => (colour ? ((colour & 0xffffff) | (120 << 24)) >>> 0 : 0));
  const [dark, bright] = [packed([40, 42, 46], 230), packed([225, 226, 228], 230)];
  put(tile, (pixels) => {
    for (let at = 0; at < pixels.length; at += 1) {
      const id = ids[at];
      if (id === NONE) continue;
      if (id === VOID) pixels[at] = ((at % width) + Math.floor(at / width)) % 8 < 4 ? dark : bright;
      else pixels[at] = second[at] === ACCEPTED ? half[id] : full[id];
    }
  });
  return tile.picture;
}

/** Middle and class of each small group of labelled pixels, in pixels of the tile. */
export function dotsOf(tile) {
  if (tile.dots) return tile.dots;
  const { width, height, ids, second } = tile;
  const seen = new Uint8Array(ids.length);
  const dots = [];
  for (let start = 0; start < ids.length; start += 1) {
    if (ids[start] === NONE || seen[start] || second[start] === ACCEPTED) continue;
    const group = [start];
    seen[start] = 1;
    for (let next = 0; next < group.length; next += 1) {
      const [x, y] = [group[next] % width, Math.floor(group[next] / width)];
      for (let row = Math.max(0, y - 1); row <= Math.min(height - 1, y + 1); row += 1) {
        for (let column = Math.max(0, x - 1); column <= Math.min(width - 1, x + 1); column += 1) {
          const at = row * width + column;
          if (seen[at] || ids[at] !== ids[start] || second[at] === ACCEPTED) continue;
          seen[at] = 1;
          group.push(at);
        }
      }
    }
    if (group.length > DOT_OF_AT_MOST) continue;
    const mean = (part) => group.reduce((sum, at) => sum + part(at), 0) / group.length + 0.5;
    dots.push({ x: mean((at) => at % width), y: mean((at) => Math.floor(at / width)), id: ids[start] });
  }
  tile.dots = dots;
  return dots;
}
