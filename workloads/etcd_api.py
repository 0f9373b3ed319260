"""The part of etcd's gRPC API that locks and storages need, without a third-party etcd library.

The messages have their own descriptor pool: in the default pool, etcd's protos would
collide with other etcd libraries in the same process. Names and field numbers come from
`rpc.proto`, `kv.proto` and `v3lock.proto` of etcd 3.5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from workloads.client import NotApplied, Unknown
from workloads.settings import EtcdStorageSettings, Settings

_FIELD = descriptor_pb2.FieldDescriptorProto
_KINDS = {
    "bytes": _FIELD.TYPE_BYTES,
    "string": _FIELD.TYPE_STRING,
    "int64": _FIELD.TYPE_INT64,
    "uint64": _FIELD.TYPE_UINT64,
    "int32": _FIELD.TYPE_INT32,  # an enum has the same encoding
    "bool": _FIELD.TYPE_BOOL,
}
_MESSAGES = {
    "KeyValue": "bytes key=1; int64 create_revision=2; int64 mod_revision=3; int64 version=4;"
    "bytes value=5; int64 lease=6",
    "Event": "int32 type=1; KeyValue kv=2",
    "ResponseHeader": "uint64 cluster_id=1; uint64 member_id=2; int64 revision=3; uint64 raft_term=4",
    "RangeRequest": "bytes key=1; bytes range_end=2",
    "RangeResponse": "ResponseHeader header=1; repeated KeyValue kvs=2",
    "PutRequest": "bytes key=1; bytes value=2; int64 lease=3",
    "PutResponse": "ResponseHeader header=1",
    "DeleteRangeRequest": "bytes key=1; bytes range_end=2",
    "DeleteRangeResponse": "ResponseHeader header=1; int64 deleted=2",
    "RequestOp": "RangeRequest request_range=1; PutRequest request_put=2;"
    "DeleteRangeRequest request_delete_range=3; TxnRequest request_txn=4",
    "ResponseOp": "RangeResponse response_range=1; PutResponse response_put=2;"
    "DeleteRangeResponse response_delete_range=3; TxnResponse response_txn=4",
    "Compare": "int32 result=1; int32 target=2; bytes key=3; int64 version=4; int64 create_revision=5;"
    "int64 mod_revision=6; bytes value=7; bytes range_end=64",
    "TxnRequest": "repeated Compare compare=1; repeated RequestOp success=2;repeated RequestOp failure=3",
    "TxnResponse": "ResponseHeader header=1; bool succeeded=2; repeated ResponseOp responses=3",
    "WatchCreateRequest": "bytes key=1; bytes range_end=2; int64 start_revision=3",
    "WatchRequest": "WatchCreateRequest create_request=1",
    "WatchResponse": "ResponseHeader header=1; int64 watch_id=2; bool created=3; bool canceled=4;"
    "int64 compact_revision=5; string cancel_reason=6; repeated Event events=11",
    "LeaseGrantRequest": "int64 TTL=1; int64 ID=2",
    "LeaseGrantResponse": "ResponseHeader header=1; int64 ID=2; int64 TTL=3; string error=4",
    "LeaseRevokeRequest": "int64 ID=1",
    "LeaseRevokeResponse": "ResponseHeader header=1",
    "LeaseKeepAliveRequest": "int64 ID=1",
    "LeaseKeepAliveResponse": "ResponseHeader header=1; int64 ID=2; int64 TTL=3",
    "LockRequest": "bytes name=1; int64 lease=2",
    "LockResponse": "ResponseHeader header=1; bytes key=2",
    "UnlockRequest": "bytes key=1",
    "UnlockResponse": "ResponseHeader header=1",
    "AuthenticateRequest": "string name=1; string password=2",
    "AuthenticateResponse": "ResponseHeader header=1; string token=2",
}
_PACKAGE = "etcdserverpb"
_PACKAGES = {"Lock": "v3lockpb"}
"""The package of a service's methods. All messages share one package here; the wire does not carry it."""
_OPTIONS = (
    ("grpc.use_local_subchannel_pool", 1),  # else two channels share one TCP connection
    ("grpc.enable_http_proxy", 0),  # HTTP_PROXY would apply to 127.0.0.1 too
)

_DEFINITE = {  # etcd answered, and did nothing
    grpc.StatusCode.NOT_FOUND,  # "requested lease not found"
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.RESOURCE_EXHAUSTED,  # "too many requests", sent before anything is proposed
    grpc.StatusCode.UNAUTHENTICATED,  # "invalid auth token", checked before anything is proposed
    grpc.StatusCode.PERMISSION_DENIED,
}

Login = tuple[tuple[str, str | bytes], ...]  # what each call of a user carries

EQUAL, GREATER, LESS, NOT_EQUAL = range(4)  # Compare.result
VERSION, CREATE_REVISION, MOD_REVISION, VALUE = range(4)  # Compare.target
DELETE = 1  # Event.type


def _add_field(message: descriptor_pb2.DescriptorProto, declaration: str) -> None:
    *repeated, kind, rest = declaration.split()
    name, number = rest.split("=")
    field = message.field.add(name=name, number=int(number))
    field.label = _FIELD.LABEL_REPEATED if repeated else _FIELD.LABEL_OPTIONAL
    if kind in _KINDS:
        field.type = _KINDS[kind]
    else:
        field.type = _FIELD.TYPE_MESSAGE
        field.type_name = f".{_PACKAGE}.{kind}"


def _build() -> dict[str, Any]:
    file = descriptor_pb2.FileDescriptorProto(name="fencepost_etcd.proto", package=_PACKAGE)
    file.syntax = "proto3"
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for declaration in fields.split(";"):
            _add_field(message, declaration)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}"))
        for name in _MESSAGES
    }


message: dict[str, Any] = _build()


def _was_refused(error: grpc.RpcError) -> bool:
    """Was the connection refused, so that the request never left?"""
    detail = error.details() or ""
    return (
        error.code() is grpc.StatusCode.UNAVAILABLE
        and "failed to connect to all addresses" in detail
        and "Connection refused" in detail
    )


def _describe(error: grpc.RpcError) -> str:
    return f"{error.code().name}: {error.details()}"


class Connection:
    """One connection to one member at a time; each call has a deadline.

    It never retries. `reconnect` drops the connection and moves on to the next member; with `round_robin`,
    each unary call goes to the next member, as those of etcd's own clients do.
    A user logs in before the first call, unless it has a ticket already. All members know it, so it
    outlives connections: a login costs a server a tenth of a second of CPU.
    """

    def __init__(
        self,
        endpoints: Sequence[str],
        timeout: float,
        first: int = 0,
        *,
        user: str = "",
        password: str = "",
        ticket: str = "",
    ) -> None:
        self._endpoints = endpoints
        self._timeout = timeout  # seconds
        self._at = first
        self._user = user
        self._password = password
        self._login: Login | None = (("token", ticket),) if ticket else None if user else ()
        self.round_robin = False
        self._channels: dict[int, grpc.Channel] = {}

    def call(
        self,
        method: str,
        *,
        within: float | None = None,
        sent: Callable[[], None] | None = None,
        **fields: Any,
    ) -> Any:
        """Call a unary method such as "KV/Range" and return its answer.

        `within` overrides the usual timeout (seconds). `sent` is called when gRPC has the request;
        its thread sends it immediately. Raises NotApplied if etcd or the kernel refused the
        request, Unknown for any other error.
        """
        login = self._logged_in()
        if self.round_robin:
            self._at += 1
        try:
            answer = self._unary(method, login, within or self._timeout, fields)
            if sent is not None:
                sent()
            return answer.result()
        except grpc.RpcError as error:
            self._forget_login(error)
            if error.code() in _DEFINITE or _was_refused(error):
                raise NotApplied(_describe(error)) from error
            raise Unknown(_describe(error)) from error

    def _unary(self, method: str, login: Login, within: float, fields: dict[str, Any]) -> Any:
        service, _, name = method.partition("/")
        unary = self._open().unary_unary(
            f"/{_PACKAGES.get(service, _PACKAGE)}.{method}",
            request_serializer=message[f"{name}Request"].SerializeToString,
            response_deserializer=message[f"{name}Response"].FromString,
        )
        return unary.future(message[f"{name}Request"](**fields), timeout=within, metadata=login)

    def _logged_in(self) -> Login:
        """Log in unless that is done; NotApplied if it fails, because the call itself was not sent."""
        if self._login is None:
            asked = {"name": self._user, "password": self._password}
            try:
                answer = self._unary("Auth/Authenticate", (), self._timeout, asked).result()
            except grpc.RpcError as error:
                raise NotApplied(f"not logged in: {_describe(error)}") from error
            self._login = (("token", answer.token),)
        return self._login

    def _forget_login(self, error: grpc.RpcError) -> None:
        """Log in again after a refusal: etcd forgets logins that were not used for minutes."""
        if self._user and error.code() is grpc.StatusCode.UNAUTHENTICATED:
            self._login = None

    def log_in(self) -> str:
        """Return a ticket for other connections of the same user; NotApplied if there is none."""
        return str(dict(self._logged_in()).get("token", ""))

    def keep_alive(self, lease: int) -> int:
        """Renew a lease once; return its TTL in seconds, 0 if it is gone."""
        answers = self._stream("Lease/LeaseKeepAlive", "LeaseKeepAlive", self._timeout, ID=lease)
        try:
            return int(next(answers).TTL)
        except (grpc.RpcError, StopIteration) as error:
            said = _describe(error) if isinstance(error, grpc.RpcError) else "the stream ended"
            raise Unknown(said) from error

    def wait_for_deletion(self, key: bytes, revision: int, timeout: float) -> bool:
        """Wait until a key is deleted at or after a revision; False after `timeout` seconds."""
        create = message["WatchCreateRequest"](key=key, start_revision=revision)
        answers = self._stream("Watch/Watch", "Watch", timeout, create_request=create)
        try:
            for answer in answers:
                if any(event.type == DELETE for event in answer.events):
                    return True
                if answer.canceled:  # compacted: the key was deleted long ago
                    return True
        except grpc.RpcError as error:
            if error.code() is not grpc.StatusCode.DEADLINE_EXCEEDED:
                raise Unknown(_describe(error)) from error
        finally:
            answers.cancel()
        return False

    def history(self, first: bytes, after: bytes) -> Iterator[Any]:
        """Read every event of the keys in [first, after), in revision order; none may have been deleted."""
        found = self.call("KV/Range", key=first, range_end=after).kvs
        start = min((kv.create_revision for kv in found), default=1)
        last = max((kv.mod_revision for kv in found), default=0)
        create = message["WatchCreateRequest"](key=first, range_end=after, start_revision=start)
        answers = self._stream("Watch/Watch", "Watch", self._timeout, create_request=create)
        reached: int | None = None
        try:
            while reached is None or reached < last:
                for event in next(answers).events:
                    reached = event.kv.mod_revision
                    yield event.kv
        except (grpc.RpcError, StopIteration) as error:
            said = _describe(error) if isinstance(error, grpc.RpcError) else "the stream ended"
            raise Unknown(said) from error
        finally:
            answers.cancel()

    def delete(self, first: bytes, after: bytes) -> int:
        """Delete the keys in [first, after) and their leases; return how many keys there were."""
        found = self.call("KV/Range", key=first, range_end=after).kvs
        for lease in {kv.lease for kv in found if kv.lease}:
            with suppress(NotApplied):  # it has just ended
                self.call("Lease/LeaseRevoke", ID=lease)
        self.call("KV/DeleteRange", key=first, range_end=after)
        return len(found)

    def _stream(self, method: str, name: str, timeout: float, **fields: Any) -> Any:
        login = self._logged_in()
        stream = self._open().stream_stream(
            f"/{_PACKAGE}.{method}",
            request_serializer=message[f"{name}Request"].SerializeToString,
            response_deserializer=message[f"{name}Response"].FromString,
        )
        return stream(iter([message[f"{name}Request"](**fields)]), timeout=timeout, metadata=login)

    def _open(self) -> grpc.Channel:
        member = self._at % len(self._endpoints)
        if member not in self._channels:
            self._channels[member] = grpc.insecure_channel(self._endpoints[member], options=_OPTIONS)
        return self._channels[member]

    def reconnect(self) -> None:
        """Drop the connection; the next call opens one to the next member."""
        self.close()
        if not self.round_robin:  # it goes there anyway
            self._at += 1

    def close(self) -> None:
        """Drop the connection."""
        for channel in self._channels.values():
            channel.close()
        self._channels.clear()


def connection(settings: Settings, first: int = 0) -> Connection:
    """Make a connection to the servers of a client, which the first call opens."""
    who = settings.login
    made = Connection(
        settings.endpoints, settings.timeout, first, user=who.user, password=who.password, ticket=who.ticket
    )
    made.round_robin = isinstance(settings, EtcdStorageSettings) and settings.round_robin
    return made


def under(prefix: bytes) -> tuple[bytes, bytes]:
    """Return the half-open range of the keys that begin with a prefix, which ends with "/"."""
    return prefix, prefix[:-1] + b"0"  # "0" follows "/" in ASCII
