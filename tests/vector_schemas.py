"""Judges every file of vectors by its JSON Schema, and the schemas by planted mistakes."""

import copy
import json
import pathlib
import sys

import jsonschema

root = pathlib.Path(sys.argv[1])
validators = {}
for path in (root / "schemas").glob("*.schema.json"):
    schema = json.loads(path.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    validators[schema["properties"]["format"]["const"]] = validator


def objects(schema, at="#"):
    """Every object that a schema describes must forbid what it does not name."""
    if isinstance(schema, dict):
        if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
            raise SystemExit(f"{at} allows unknown fields")
        for key, value in schema.items():
            objects(value, f"{at}/{key}")
    elif isinstance(schema, list):
        for value in schema:
            objects(value, at)


for validator in validators.values():
    objects(validator.schema)

failures, documents = [], {}
files = [p for p in sorted(root.rglob("*.json")) if p.parent.name != "schemas"]
for path in files:
    document = json.loads(path.read_text())
    documents[path.relative_to(root).as_posix()] = document
    for error in validators[document["format"]].iter_errors(document):
        failures.append(f"{path}: {list(error.absolute_path)}: {error.message[:200]}")
        break


def planted(name, change):
    document = copy.deepcopy(documents[name])
    change(document)
    if validators[document["format"]].is_valid(document):
        failures.append(f"{name}: the schema misses a planted mistake")


for name in ("coarsen.json", "dialects/spconv.json"):
    case = ("groups", 0, "cases", 0)

    def at(document, *keys):
        for key in keys:
            document = document[key]
        return document

    planted(name, lambda d: d.update(extra=1))
    planted(name, lambda d: at(d, "groups", 0).update(extra=1))
    planted(name, lambda d: at(d, "groups", 0, "params").update(extra=1))
    planted(name, lambda d: at(d, *case).update(extra=1))
    planted(name, lambda d: at(d, *case, "expected").update(extra=1))
    planted(name, lambda d: at(d, *case).pop("comment"))
    planted(name, lambda d: at(d, *case).update(comment=" "))
    planted(name, lambda d: at(d, *case).update(result="maybe"))
    planted(name, lambda d: at(d, *case).update(id=-1))
    planted(name, lambda d: d.update(version=2))

for failure in failures:
    print(failure)
print(f"{len(files)} files, {len(failures)} failures")
sys.exit(1 if failures else 0)
