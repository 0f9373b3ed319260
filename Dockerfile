# Fencepost, and the servers that its local engine starts: etcd, PostgreSQL, Redis and ZooKeeper.
#
#   docker build --tag fencepost .
#   docker run --rm -v "$PWD:/work" fencepost run etcd-postgres-unfenced
#
# docs/image.md says what works in it.
ARG BASE=debian:trixie-slim

# As in compose/images/toxiproxy.
FROM $BASE AS toxiproxy
RUN apt-get update -qq \
    && apt-get install -qq --no-install-recommends golang-go ca-certificates
ARG TOXIPROXY=2.12.0
RUN CGO_ENABLED=0 go install -trimpath \
        -ldflags="-s -w -X github.com/Shopify/toxiproxy/v2.Version=$TOXIPROXY" \
        github.com/Shopify/toxiproxy/v2/cmd/server@v$TOXIPROXY

# As in compose/images/zookeeper: Debian's release loses acknowledged writes when it is killed.
FROM $BASE AS zookeeper
RUN apt-get update -qq \
    && apt-get install -qq --no-install-recommends maven default-jdk-headless ca-certificates
WORKDIR /build
COPY compose/images/zookeeper/pom.xml .
ARG ZOOKEEPER=3.9.5
ARG MAVEN_DEPENDENCY_PLUGIN=3.8.1
RUN mvn --batch-mode --quiet -Dzookeeper=$ZOOKEEPER \
        org.apache.maven.plugins:maven-dependency-plugin:$MAVEN_DEPENDENCY_PLUGIN:copy-dependencies \
        -DoutputDirectory=lib

# The source is copied last, so that a change of it installs no requirement again.
FROM $BASE AS fencepost
RUN apt-get update -qq \
    && apt-get install -qq --no-install-recommends python3-venv python3-hatchling ca-certificates
WORKDIR /build
COPY requirements-runtime.lock .
RUN python3 -m venv /opt/fencepost \
    && /opt/fencepost/bin/pip install --quiet --no-cache-dir --require-hashes --only-binary :all: -r requirements-runtime.lock
COPY . .
RUN python3 -m hatchling build --target wheel \
    && /opt/fencepost/bin/pip install --quiet --no-cache-dir --no-deps dist/*.whl

FROM $BASE
ARG POSTGRES_RELEASE=17
ARG JAVA_RELEASE=21
# create_main_cluster: each run makes a cluster of its own.
# extrausers: names the user of --user, and PostgreSQL refuses one without a name.
RUN mkdir -p /etc/postgresql-common \
    && echo "create_main_cluster = false" > /etc/postgresql-common/createcluster.conf \
    && apt-get update -qq \
    && apt-get install -qq --no-install-recommends \
        tini ca-certificates libnss-extrausers python3 \
        etcd-server postgresql-$POSTGRES_RELEASE redis-server openjdk-$JAVA_RELEASE-jre-headless \
    && rm -rf /var/lib/apt/lists/* \
    && useradd fencepost \
    && install -d -o fencepost -g fencepost /work \
    && sed -i '/^passwd:/s/$/ extrausers/' /etc/nsswitch.conf \
    && install -m 666 /dev/null /var/lib/extrausers/passwd
COPY --from=toxiproxy /root/go/bin/server /usr/local/bin/toxiproxy-server
COPY --from=zookeeper /build/lib /opt/zookeeper/lib/
COPY --from=fencepost /opt/fencepost /opt/fencepost/
COPY image/as-owner-of-work /usr/local/bin/
ENV PATH=/opt/fencepost/bin:$PATH \
    ZOOKEEPER_HOME=/opt/zookeeper
WORKDIR /work
ENTRYPOINT ["tini", "--", "as-owner-of-work", "fencepost"]
CMD ["--help"]
