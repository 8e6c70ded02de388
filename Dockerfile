# syntax=docker/dockerfile:1

# One static binary on nothing else: docker build --build-arg CMD=worker .
# CMD is the folder of a package main, such as worker or waittest/fakeprovider.
FROM golang:1.26.8-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
ARG CMD=worker
# The two caches are shared by the images of one build: the second compiles only its own package.
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o /out/app "./${CMD}" && \
    CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o /out/healthcheck ./deploy/healthcheck

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/app /app
COPY --from=build /out/healthcheck /healthcheck
# Nobody in particular; by number, because there is no /etc/passwd to look a name up in.
USER 65532:65532
ENTRYPOINT ["/app"]
