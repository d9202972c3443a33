# The graphkin command: `docker build -t graphkin .` with its server, for Neo4j too, or
# `--build-arg EXTRA=trainer -t graphkin-trainer` with the trainer.

FROM python:3.11-slim-bookworm AS build
WORKDIR /build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
# The packages to build with and to install, each pinned by the hashes of its files. `make pins` writes these lists.
COPY deploy/requirements deploy/requirements
ARG EXTRA=neo4j
RUN python -m venv /opt/build && /opt/build/bin/pip install --require-hashes -r deploy/requirements/build.txt \
    && python -m venv /opt/graphkin \
    && /opt/graphkin/bin/pip install --require-hashes -r "deploy/requirements/$EXTRA.txt"
COPY . .
RUN /opt/build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /wheels . \
    && /opt/graphkin/bin/pip install --no-deps --no-index /wheels/*.whl

FROM python:3.11-slim-bookworm
# The drawing code of RDKit is linked with these libraries.
RUN apt-get update \
    && apt-get install -y --no-install-recommends libexpat1 libxext6 libxrender1 \
    && rm -rf /var/lib/apt/lists/*
# A named volume that is mounted here inherits the owner of the folder.
RUN useradd --system --uid 10001 --user-group --no-create-home graphkin \
    && install -d -o graphkin -g graphkin /var/cache/graphkin /runs
COPY --from=build /opt/graphkin /opt/graphkin
ENV PATH=/opt/graphkin/bin:$PATH \
    GRAPHKIN_CACHE_DIR=/var/cache/graphkin \
    XDG_CACHE_HOME=/var/cache/graphkin \
    NUMBA_CACHE_DIR=/var/cache/graphkin/numba
USER graphkin
WORKDIR /var/cache/graphkin
ENTRYPOINT ["graphkin"]
CMD ["--help"]
