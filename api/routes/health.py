"""GET /livez, /readyz and /metrics: health checks and metrics for operators."""

from fastapi import APIRouter, Request
from prometheus_client.exposition import choose_encoder
from starlette.responses import Response

from graphkin.api.http.openapi import problems, replies
from graphkin.api.http.route import with_access
from graphkin.api.state import state_of
from graphkin.protocol.replies import Health, Readiness

router = APIRouter(tags=["health"], route_class=with_access(None))
metrics_router = APIRouter(tags=["health"], route_class=with_access("metrics"))


@router.get("/livez", response_model=Health)
async def livez() -> dict[str, str]:
    """The server process responds."""
    return {"status": "alive"}


@router.get("/readyz", response_model=Readiness, responses=problems(500, 503))
def readyz(request: Request) -> dict[str, str | int]:
    """The server can process requests: the store is readable, kernels are compiled, and a sampler has its graph.

    The server stays ready if a collection is damaged: `damaged` is the number of generations with known damage.
    `GET /v1/collections` and /metrics name the collections.
    """
    state = state_of(request)
    state["generations"].require_ready()
    state["warmup"].require()
    return {"status": "ready", "damaged": len(state["generations"].damages())}


@metrics_router.get("/metrics", response_class=Response, responses=replies("text/plain"))
def metrics(request: Request) -> Response:
    """The metrics of all server processes, such as request counts and latencies, in the text format of Prometheus."""
    encode, content_type = choose_encoder(request.headers.get("accept", ""))
    return Response(encode(request.app.state.metrics.current_registry()), headers={"Content-Type": content_type})


router.routes.extend(metrics_router.routes)
