// Asking the server: answers or errors, and the stream of what happens. A cookie that scripts cannot read holds the token.

/** An answer that says no. `final` ones stay the same however often one asks. */
export class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
    this.final = status >= 400 && status < 500;
  }
}

export class Server {
  /** @param {string} client the name of this tab */
  constructor(client) {
    this.client = client;
  }

  /** @param {string} path @param {Record<string, string | number>} [query] */
  address(path, query = {}) {
    const words = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
    return `${path}?${words}`;
  }

  /** The answer's JSON. @param {any} [body] makes it a POST */
  async ask(path, { query = {}, body = undefined } = {}) {
    const answer = await this._fetch(path, query, body === undefined ? {} : {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
    });
    return answer.json();
  }

  /** An answer's picture. @param {AbortSignal} [signal] */
  async picture(path, query, signal) {
    const answer = await this._fetch(path, query, { signal });
    // Tiles hold numbers in their colours: nothing may touch them up.
    return createImageBitmap(await answer.blob(), { colorSpaceConversion: "none", premultiplyAlpha: "none" });
  }

  async _fetch(path, query, options) {
    const answer = await fetch(this.address(path, query), { cache: "default", ...options });
    if (answer.ok) return answer;
    let message = `the server answered ${answer.status}`;
    try {
      message = (await answer.json()).error ?? message;
    } catch { /* not ours: the number must do */ }
    throw new Refusal(answer.status, message);
  }
}

const NAMES = ["action", "reload", "classes", "learner", "shares", "predictions", "training", "trouble"];

/** The stream of events; comes back by itself, and lets go while nobody sees the page: browsers allow few streams. */
export class EventFeed {
  /**
   * @param {Server} server
   * @param {{since: () => number, tell: (name: string, data: any) => void, opened: () => void, lost: () => void}} listener
   */
  constructor(server, listener) {
    this.server = server;
    this.listener = listener;
    /** @type {EventSource | null} */ this.source = null;
    this.timer = 0;
    this.pause = 500;
    document.addEventListener("visibilitychange", () => (document.hidden ? this.close() : this.open()));
  }

  open() {
    this.close();
    const source = new EventSource(this.server.address("/api/events", { since: this.listener.since() }));
    this.source = source;
    source.onopen = () => {
      this.pause = 500;
      this.listener.opened();
    };
    for (const name of NAMES) {
      source.addEventListener(name, (event) => this.listener.tell(name, JSON.parse(event.data)));
    }
    source.onerror = () => {
      this.close();
      this.listener.lost();
      this.timer = setTimeout(() => this.open(), this.pause);
      this.pause = Math.min(2 * this.pause, 5000);
    };
  }

  close() {
    clearTimeout(this.timer);
    this.source?.close();
    this.source = null;
  }
}
