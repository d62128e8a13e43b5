# recoseg in a container, with the versions of constraints.txt: docs/sharing.md tells how to build and run it.
# VARIANT is cpu, or cuda for a machine with NVIDIA's driver and container toolkit.
FROM python:3.11.11-slim-bookworm AS build
ARG VARIANT=cpu
ENV PATH=/opt/recoseg/bin:$PATH PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv /opt/recoseg
WORKDIR /source
COPY constraints.txt ./
# PyPI's torch brings the libraries of CUDA, gigabytes of them; its owner has one without.
RUN case "$VARIANT" in \
        cpu) pip install -c constraints.txt --index-url https://download.pytorch.org/whl/cpu torch ;; \
        cuda) pip install -c constraints.txt torch ;; \
        *) echo "VARIANT: got $VARIANT, needs cpu or cuda" >&2; exit 1 ;; \
    esac
COPY pyproject.toml README.md LICENSE ./
COPY configs configs
COPY recoseg recoseg
RUN pip install -c constraints.txt ".[onnx,weights,hub]"

FROM python:3.11.11-slim-bookworm
COPY --from=build /opt/recoseg /opt/recoseg
# Anybody's home: with --user the container runs under a number that it has no name for.
RUN useradd --create-home recoseg && chmod 777 /home/recoseg && mkdir /work && chown recoseg /work
ENV PATH=/opt/recoseg/bin:$PATH HOME=/home/recoseg
USER recoseg
WORKDIR /work
ENTRYPOINT ["recoseg"]
CMD ["--help"]
