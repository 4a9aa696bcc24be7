"""loglin import, export: models of other programs."""

from __future__ import annotations

import os

import click

from loglin.cli import options as shared


@click.command("import")
@click.argument("model")
@click.option("-o", "--output", required=True, help="Model file to write.")
@click.option(
    "--columns",
    type=shared.Count(1),
    help="Columns of the training file with labels, if templates need fewer.",
)
@click.option("--encoding", default="utf-8", show_default=True, help="Encoding of the strings in MODEL.")
@shared.as_json
def import_command(model, output, columns, encoding, as_json) -> None:
    """Read MODEL of CRFsuite, CRF++ or Wapiti, and write it as a model of loglin that tags as it did.

    CRF++'s may be the binary file or the text of crf_learn -t. Templates come along.

    \b
    loglin import ner.crfsuite -o ner.model
    loglin tag ner.model new.txt
    """
    from loglin.models import foreign

    shared.check_output(output, model)
    found = foreign.load(model, encoding, columns)
    found.save(output)
    value = {
        "model": model,
        "program": found.record["imported"],
        "labels": len(found.labels),
        "attributes": found.extractor.n_attributes + found.extractor.n_bigram_attributes,
        "features": found.index.n_features,
        "output": output,
        "bytes": os.path.getsize(output),
    }
    lines = [
        f"model of {value['program']}: {value['labels']:,} labels, {value['attributes']:,} attributes, "
        f"{value['features']:,} weights that are not 0",
        f"model written to {output}",
    ]
    shared.show(value, "\n".join(lines), as_json)


def _formats() -> list[str]:
    from loglin.models import foreign

    return foreign.exports()


@click.command("export")
@click.argument("model")
@click.option("--to", type=shared.RegistryChoice(_formats), required=True, help="What to write.")
@click.option("-o", "--output", required=True, help="File to write.")
@shared.as_json
def export_command(model, to, output, as_json) -> None:
    """Write MODEL, a tagger, as a model of CRFsuite or Wapiti, or as JSON with every weight in words.

    What the format cannot hold is refused. A model of another program may be given as it is.

    \b
    loglin export ner.model --to crfsuite -o ner.crfsuite
    """
    from loglin.models import foreign
    from loglin.models.chain import Model

    shared.check_output(output, model)
    foreign.export(Model.load(model), to, output)
    value = {"model": model, "to": to, "output": output, "bytes": os.path.getsize(output)}
    shared.show(value, f"model written to {output}, {value['bytes']:,} bytes", as_json)


COMMANDS = {"import": import_command, "export": export_command}
