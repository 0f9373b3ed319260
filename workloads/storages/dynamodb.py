"""DynamoDB as a fenced register: one item per resource, created by the first write.

none                     the token is stored, but not compared
conditional-expression   the update has a condition: no mark yet, or one below the token

The update counts the item's accepted writes and fences, and the table's stream keeps the
item's image after each: the images in the order of that count are the commit order. (A list
in the item would end at an item's limit of 400 KB.) A request is one message.

botocore turns a truncated answer into an empty one, as if nothing had ever been written. So
each answer is checked against its checksum.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from http import HTTPStatus
from typing import Any

from checkers.history.records import Commit
from workloads import aws_connection
from workloads.aws_connection import Refused, SentNotice, call
from workloads.client import Stale, Unknown, as_stored, from_stored
from workloads.commit_room import CommitRoom
from workloads.settings import StorageSettings

PAGE = 1000  # records read at a time
POLL = 0.05  # seconds between two polls at the end of the stream

_TABLE = "fencepost"
_WRITE = "SET mark = :token, writer = :token, content = :value REMOVE fence ADD writes :one"
_FENCE = "SET mark = :token, fence = :true ADD writes :one"
_ONE = {"N": "1"}
_GUARD = {
    "strict": "attribute_not_exists(mark) OR mark < :token",
    "inclusive": "attribute_not_exists(mark) OR mark <= :token",
}


class DynamodbStorage:
    """One client of the register."""

    def __init__(self, client: Any, notice: SentNotice, settings: StorageSettings) -> None:
        self._client = client
        self._notice = notice
        self._table = _table(settings)
        self._guard = None if settings.fencing == "none" else _GUARD[settings.policy]

    def write(self, resource: str, token: int | None, value: str, sent: Callable[[], None]) -> None:
        """Write with a token, fenced as configured."""
        self._notice.expect(sent)
        values = {":token": {"N": str(as_stored(token))}, ":value": {"S": value}, ":one": _ONE}
        self._update(resource, _WRITE, self._guard, values)

    def _update(self, resource: str, expression: str, guard: str | None, values: dict[str, Any]) -> None:
        try:
            call(
                self._client.update_item,
                TableName=self._table,
                Key=_key(resource),
                UpdateExpression=expression,
                ExpressionAttributeValues=values,
                **({"ConditionExpression": guard} if guard else {}),
            )
        except Refused as error:
            if error.code == "ConditionalCheckFailedException":
                raise Stale from error
            raise

    def read(self, resource: str) -> tuple[str | None, int | None]:
        """Return the value and the token of the last accepted write."""
        answer = call(self._client.get_item, TableName=self._table, Key=_key(resource), ConsistentRead=True)
        item = answer.get("Item", {})
        return (item["content"]["S"], _writer(item)) if _is_written(item) else (None, 0)

    def fence(self, resource: str, token: int) -> None:
        """Raise the mark to a token and keep the value."""
        values = {":token": {"N": str(token)}, ":true": {"BOOL": True}, ":one": _ONE}
        self._update(resource, _FENCE, _GUARD["inclusive"], values)

    def reconnect(self) -> None:
        """Drop the connection: the next call opens a new one."""
        self._client.close()

    def sharing(self, settings: StorageSettings) -> DynamodbStorage:
        """Make a client with other settings on the same connection."""
        return DynamodbStorage(self._client, self._notice, settings)


def connect(settings: StorageSettings) -> DynamodbStorage:
    """Make a client."""
    client = _client("dynamodb", settings)
    return DynamodbStorage(client, SentNotice(client, "dynamodb.UpdateItem"), settings)


def set_up(settings: StorageSettings, resources: Sequence[str]) -> None:  # noqa: ARG001 - writes create items
    """Create the table, with a stream of its items' images."""
    call(
        _client("dynamodb", settings).create_table,
        TableName=_table(settings),
        KeySchema=[{"AttributeName": "resource", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "resource", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
    )


def committed(settings: StorageSettings) -> list[Commit]:
    """Read the accepted writes and fences in commit order, resource by resource."""
    client, table = _client("dynamodb", settings), _table(settings)
    room = CommitRoom(settings.recorded)
    accepted = sum(int(item["writes"]["N"]) for item in _items(client, table, room))
    stream = call(client.describe_table, TableName=table)["Table"]["LatestStreamArn"]
    deadline = time.monotonic() + settings.timeout
    images = _images(_client("dynamodbstreams", settings), stream, accepted, deadline, room)
    return [
        _commit(seq, resource, image) for seq, ((resource, _), image) in enumerate(sorted(images.items()), 1)
    ]


def remove(settings: StorageSettings) -> int:
    """Delete the table of a run; return whether there was one."""
    try:
        call(_client("dynamodb", settings).delete_table, TableName=_table(settings))
    except Refused as error:
        if error.code == "ResourceNotFoundException":
            return 0
        raise
    return 1


def _commit(seq: int, resource: str, image: dict[str, Any]) -> Commit:
    if "fence" in image:
        return Commit(seq=seq, resource=resource, token=int(image["mark"]["N"]), fence=True)
    return Commit(seq=seq, resource=resource, token=_writer(image), value=image["content"]["S"])


def _writer(item: dict[str, Any]) -> int | None:
    """Return the token of the last write of an item."""
    return from_stored(int(item["writer"]["N"]))


def _items(client: Any, table: str, room: CommitRoom) -> Iterator[dict[str, Any]]:
    page: dict[str, Any] = {}
    while not page or "LastEvaluatedKey" in page:
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]} if page else {}
        page = call(client.scan, TableName=table, ConsistentRead=True, **start)
        room.take(len(str(page)))
        yield from page["Items"]


def _images(
    streams: Any, stream: str, expected: int, deadline: float, room: CommitRoom
) -> dict[tuple[str, int], Any]:
    """Read the image after each write and fence, by resource and count; Unknown if any is missing."""
    images: dict[tuple[str, int], Any] = {}
    for shard in call(streams.describe_stream, StreamArn=stream)["StreamDescription"]["Shards"]:
        iterator = call(
            streams.get_shard_iterator,
            StreamArn=stream,
            ShardId=shard["ShardId"],
            ShardIteratorType="TRIM_HORIZON",
        ).get("ShardIterator")
        while iterator and len(images) < expected:
            page = call(streams.get_records, ShardIterator=iterator, Limit=PAGE)
            iterator = page.get("NextShardIterator")
            for image in (record["dynamodb"]["NewImage"] for record in page["Records"]):
                room.take(len(str(image)))
                images[image["resource"]["S"], int(image["writes"]["N"])] = image
            if not page["Records"]:
                if time.monotonic() > deadline:
                    break
                time.sleep(POLL)
    if len(images) < expected:
        raise Unknown(f"the stream has {len(images)} of {expected} writes and fences")
    return images


def _is_written(item: dict[str, Any]) -> bool:
    """Does the item have a value? A fence may create an item without one."""
    return "content" in item


def _client(service: str, settings: StorageSettings) -> Any:
    client = aws_connection.connect(service, settings)
    client.meta.events.register("response-received", _verify_checksum)
    return client


def _verify_checksum(response_dict: dict[str, Any] | None, **_more: Any) -> None:
    """Raise Unknown for a truncated answer; a refusal has no checksum, and its status is enough."""
    if response_dict is None or response_dict["status_code"] != HTTPStatus.OK:
        return
    body, checksum = response_dict["body"], response_dict["headers"].get("x-amz-crc32")
    if checksum != str(zlib.crc32(body)):
        raise Unknown(f"truncated answer: {len(body)} bytes with checksum {checksum}")


def _table(settings: StorageSettings) -> str:
    return f"{_TABLE}-{settings.names}" if settings.names else _TABLE


def _key(resource: str) -> dict[str, Any]:
    return {"resource": {"S": resource}}
