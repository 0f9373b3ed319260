"""The commands: one file each, registered here."""

from harness.cli.commands.atlas import atlas
from harness.cli.commands.bench import bench
from harness.cli.commands.campaign import campaign
from harness.cli.commands.card import card
from harness.cli.commands.check_client import check_client
from harness.cli.commands.clean import clean
from harness.cli.commands.corpus import corpus
from harness.cli.commands.doctor import doctor
from harness.cli.commands.export import export
from harness.cli.commands.import_ import import_
from harness.cli.commands.recheck import recheck
from harness.cli.commands.run import run
from harness.cli.commands.schema import schema
from harness.cli.commands.show import show
from harness.cli.commands.shrink import shrink
from harness.cli.commands.targets import targets
from harness.cli.commands.validate import validate
from harness.cli.commands.zoo import zoo

COMMANDS = (
    run,
    recheck,
    shrink,
    campaign,
    corpus,
    export,
    import_,
    show,
    validate,
    check_client,
    card,
    bench,
    atlas,
    targets,
    zoo,
    schema,
    doctor,
    clean,
)
