"""What programs do with the Python client, tried on the server of KUBECONFIG. A line of JSON is printed for each thing tried."""

import json
import logging
import os
import sys
import tempfile
import threading
import time
import traceback

from kubernetes import client, config, dynamic, utils, watch
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic.exceptions import ConflictError, NotFoundError, ResourceNotFoundError
from kubernetes.informer import SharedInformer
from kubernetes.leaderelection import electionconfig, leaderelection
from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock

NS = "default"
GROUP = "py.example.com"
CHECKS = []
DEADLINE = 20


def check(function):
    """Docstrings name the checks; they run in the order of the file, in one server."""
    CHECKS.append(function)
    return function


def say(**line):
    print(json.dumps(line), flush=True)


def ask(what):
    say(ask=what)
    assert sys.stdin.readline() == "done\n"


def equal(got, want):
    assert got == want, f"got {got!r}, not {want!r}"


def refused(code, reason, call):
    try:
        call()
    except ApiException as error:
        equal((error.status, json.loads(error.body)["reason"]), (code, reason))
        return json.loads(error.body)
    raise AssertionError(f"was not refused with {code}")


def until(what, holds):
    end = time.monotonic() + DEADLINE
    while not holds():
        assert time.monotonic() < end, f"never came true: {what}"
        time.sleep(0.02)


def definition(plural, kind):
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "size": {"type": "string", "default": "small"},
                    "count": {"type": "integer", "minimum": 0},
                },
            },
            "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
        },
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"},
            "versions": [version],
        },
    }


def cog(name, **spec):
    return {"apiVersion": f"{GROUP}/v1", "kind": "Cog", "metadata": {"name": name}, "spec": spec}


def lease(name, holder="nobody"):
    return {"metadata": {"name": name}, "spec": {"holderIdentity": holder}}


@check
def versions():
    """the version, and the groups that discovery names"""
    assert client.VersionApi().get_code().git_version.startswith("v1.")
    groups = {group.name for group in client.ApisApi().get_api_versions().groups}
    assert {"coppice.dev", "coordination.k8s.io"} <= groups, groups
    resources = {resource.name for resource in client.CoreV1Api().get_api_resources().resources}
    assert {"namespaces", "events"} <= resources, resources


@check
def namespaces():
    """typed calls: a namespace is made, labelled, listed by label and deleted"""
    core = client.CoreV1Api()
    made = core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name="py", labels={"a": "1"})))
    equal(made.status.phase, "Active")
    equal(made.metadata.creation_timestamp.tzinfo is not None, True)
    patched = core.patch_namespace("py", {"metadata": {"labels": {"a": None, "b": "2"}}})
    equal(patched.metadata.labels, {"b": "2", "kubernetes.io/metadata.name": "py"})
    equal([item.metadata.name for item in core.list_namespace(label_selector="b=2").items], ["py"])
    core.delete_namespace("py", propagation_policy="Background")
    until("the namespace is gone", lambda: not core.list_namespace(field_selector="metadata.name=py").items)


@check
def config_maps():
    """typed calls: a config map and a secret, patched and replaced only where they were read"""
    core = client.CoreV1Api()
    core.create_namespaced_config_map(NS, {"metadata": {"name": "py"}, "data": {"a": "1"}})
    core.patch_namespaced_config_map("py", NS, {"data": {"b": "2"}})
    read = core.read_namespaced_config_map("py", NS)
    equal(read.data, {"a": "1", "b": "2"})
    read.data = {"c": "3"}
    core.replace_namespaced_config_map("py", NS, read)
    refused(409, "Conflict", lambda: core.replace_namespaced_config_map("py", NS, read))
    secret = client.V1Secret(metadata=client.V1ObjectMeta(name="py"), string_data={"k": "v"})
    equal(core.create_namespaced_secret(NS, secret).data, {"k": "dg=="})
    status = core.delete_namespaced_config_map("py", NS, body=client.V1DeleteOptions(propagation_policy="Background"))
    equal(status["status"], "Success")


@check
def patch_types():
    """each patch type by its content type, and a refusal of one that a kind has not"""
    api = client.CoordinationV1Api()
    api.create_namespaced_lease(NS, lease("patched"))
    raw = client.ApiClient()

    def patch(path, body, content_type):
        header = {"Content-Type": content_type, "Accept": "application/json"}
        request = raw.param_serialize("PATCH", path, header_params=header, body=body, auth_settings=["BearerToken"])
        response = raw.call_api(*request)
        response.read()
        if not 200 <= response.status <= 299:
            raise ApiException(status=response.status, body=response.data.decode())
        return json.loads(response.data)

    path = f"/apis/coordination.k8s.io/v1/namespaces/{NS}/leases/patched"
    operations = [{"op": "replace", "path": "/spec/holderIdentity", "value": "json"}]
    equal(patch(path, operations, "application/json-patch+json")["spec"]["holderIdentity"], "json")
    merge = {"spec": {"holderIdentity": None}}
    equal("holderIdentity" in patch(path, merge, "application/merge-patch+json")["spec"], False)
    for finalizers, left in [
        ({"finalizers": ["example.com/a"]}, ["example.com/a"]),
        ({"finalizers": ["example.com/b"]}, ["example.com/a", "example.com/b"]),
        ({"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}, ["example.com/b"]),
        ({"finalizers": None}, []),
    ]:
        strategic = patch(path, {"metadata": finalizers}, "application/strategic-merge-patch+json")
        equal(sorted(strategic["metadata"].get("finalizers", [])), left)
    wrong = "/apis/coppice.dev/v1/images/none"
    refused(415, "UnsupportedMediaType", lambda: patch(wrong, {}, "application/strategic-merge-patch+json"))


@check
def define():
    """a definition is made and its kind served at once, with custom objects of it"""
    definitions = client.ApiextensionsV1Api()
    definitions.create_custom_resource_definition(definition("cogs", "Cog"))
    stored = definitions.read_custom_resource_definition(f"cogs.{GROUP}")
    equal({c.type: c.status for c in stored.status.conditions}, {"NamesAccepted": "True", "Established": "True"})
    custom = client.CustomObjectsApi()
    made = custom.create_namespaced_custom_object(GROUP, "v1", NS, "cogs", cog("c1"))
    equal(made["spec"], {"size": "small"})
    status = {"status": {"phase": "Done"}}
    changed = custom.patch_namespaced_custom_object_status(GROUP, "v1", NS, "cogs", "c1", status)
    equal((changed["status"], changed["metadata"]["generation"]), ({"phase": "Done"}, 1))
    listed = custom.list_namespaced_custom_object(GROUP, "v1", NS, "cogs")
    equal((listed["kind"], [item["metadata"]["name"] for item in listed["items"]]), ("CogList", ["c1"]))


@check
def errors():
    """refusals: an exception with the code, and a Status with reason, details and causes"""
    custom = client.CustomObjectsApi()

    def create(body):
        return custom.create_namespaced_custom_object(GROUP, "v1", NS, "cogs", body)

    invalid = refused(422, "Invalid", lambda: create(cog("bad", count=-1)))
    equal(invalid["details"]["kind"], "Cog")
    equal([cause["field"] for cause in invalid["details"]["causes"]], ["spec.count"])
    refused(409, "AlreadyExists", lambda: create(cog("c1")))
    missing = refused(404, "NotFound", lambda: client.CoordinationV1Api().read_namespaced_lease("none", NS))
    equal(missing["details"], {"group": "coordination.k8s.io", "kind": "leases", "name": "none"})
    unknown = cog("strict", colour="red")
    strict = lambda: custom.create_namespaced_custom_object(GROUP, "v1", NS, "cogs", unknown, field_validation="Strict")
    assert 'unknown field "spec.colour"' in refused(400, "BadRequest", strict)["message"]
    refused(400, "BadRequest", lambda: client.CoreV1Api().list_namespace(label_selector="a in ("))
    anonymous = client.Configuration.get_default_copy()
    anonymous.refresh_api_key_hook = None
    anonymous.api_key = {"BearerToken": "Bearer nobody"}
    refused(401, "Unauthorized", lambda: client.CoreV1Api(client.ApiClient(anonymous)).list_namespace())


@check
def pages():
    """a list a page at a time, all of one version"""
    api = client.CoordinationV1Api()
    for name in ["page-1", "page-2", "page-3"]:
        api.create_namespaced_lease(NS, {"metadata": {"name": name, "labels": {"page": "y"}}})
    names, versions, more = [], set(), None
    while more != "":
        page = api.list_namespaced_lease(NS, label_selector="page", limit=1, _continue=more)
        names += [item.metadata.name for item in page.items]
        versions.add(page.metadata.resource_version)
        more = page.metadata._continue or ""
        api.create_namespaced_lease(NS, {"metadata": {"generateName": "between-"}})
    equal((names, len(versions)), (["page-1", "page-2", "page-3"], 1))


@check
def yaml_files():
    """create_from_yaml: several documents, a List, and the same applied on the server"""
    text = """
apiVersion: v1
kind: Namespace
metadata: {name: from-yaml}
---
apiVersion: v1
kind: List
items:
- {apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: one, namespace: from-yaml}}
- {apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: two, namespace: from-yaml}}
"""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        utils.create_from_yaml(client.ApiClient(), file.name)
        leases = client.CoordinationV1Api().list_namespaced_lease("from-yaml").items
        equal([item.metadata.name for item in leases], ["one", "two"])
        try:
            utils.create_from_yaml(client.ApiClient(), file.name)
        except utils.FailToCreateError as error:
            equal([one.status for one in error.api_exceptions], [409, 409, 409])
        else:
            raise AssertionError("was made twice")
    applied = {"apiVersion": f"{GROUP}/v1", "kind": "Cog", "metadata": {"name": "yaml"}, "spec": {"count": 3}}
    utils.create_from_yaml(client.ApiClient(), yaml_objects=[applied], apply=True)
    stored = client.CustomObjectsApi().get_namespaced_custom_object(GROUP, "v1", NS, "cogs", "yaml")
    equal([entry["manager"] for entry in stored["metadata"]["managedFields"]], ["python-client"])


@check
def dynamic_discovery():
    """the dynamic client finds kinds by name and by kind, and new ones as they come"""
    with tempfile.TemporaryDirectory() as folder:
        found = dynamic.DynamicClient(client.ApiClient(), cache_file=os.path.join(folder, "cache"))
        equal(found.resources.get(api_version="v1", kind="Namespace").name, "namespaces")
        equal(found.resources.get(api_version=f"{GROUP}/v1", name="cogs").namespaced, True)
        try:
            found.resources.get(api_version=f"{GROUP}/v1", kind="Wheel")
        except ResourceNotFoundError:
            pass
        client.ApiextensionsV1Api().create_custom_resource_definition(definition("wheels", "Wheel"))
        equal(found.resources.get(api_version=f"{GROUP}/v1", kind="Wheel").name, "wheels")
        kinds = [one.kind for one in found.resources.search(group="coppice.dev") if not one.kind.endswith("List")]
        assert {"VM", "Host", "Image", "Tenant"} <= set(kinds), kinds


@check
def dynamic_objects():
    """the dynamic client makes, patches, replaces, lists and deletes"""
    cogs = dynamic.DynamicClient(client.ApiClient()).resources.get(api_version=f"{GROUP}/v1", kind="Cog")
    cogs.create(body=cog("dyn"), namespace=NS)
    merged = cogs.patch(
        name="dyn", namespace=NS, body={"spec": {"count": 1}}, content_type="application/merge-patch+json"
    )
    equal(merged.spec.count, 1)
    read = cogs.get(name="dyn", namespace=NS)
    body = read.to_dict()
    body["spec"]["count"] = 2
    cogs.replace(body=body, namespace=NS)
    try:
        cogs.replace(body=body, namespace=NS)
    except ConflictError as error:
        equal(error.status, 409)
    else:
        raise AssertionError("a stale object replaced a newer one")
    cogs.status.patch(
        name="dyn", namespace=NS, body={"status": {"phase": "Up"}}, content_type="application/merge-patch+json"
    )
    equal(cogs.get(name="dyn", namespace=NS).status.phase, "Up")
    assert "dyn" in [item.metadata.name for item in cogs.get(namespace=NS).items]
    equal(cogs.delete(name="dyn", namespace=NS).status, "Success")
    try:
        cogs.get(name="dyn", namespace=NS)
    except NotFoundError:
        return
    raise AssertionError("is still there")


@check
def server_side_apply():
    """the dynamic client applies: nothing changes the second time, others' fields only by force"""
    cogs = dynamic.DynamicClient(client.ApiClient()).resources.get(api_version=f"{GROUP}/v1", kind="Cog")

    def apply(manager, force=None, **spec):
        return cogs.server_side_apply(
            body=cog("applied", **spec), namespace=NS, field_manager=manager, force_conflicts=force
        )

    first = apply("one", count=1)
    equal(apply("one", count=1).metadata.resourceVersion, first.metadata.resourceVersion)
    try:
        apply("two", count=2)
    except ConflictError as error:
        assert 'conflict with "one": .spec.count' in error.summary(), error.summary()
    else:
        raise AssertionError("took a field of another")
    equal(apply("two", force=True, count=2).spec.count, 2)
    tried = cogs.server_side_apply(
        body=cog("applied", size="large"), namespace=NS, field_manager="two", dry_run="All"
    )
    equal((tried.spec.size, tried.spec.count), ("large", None))
    equal(cogs.get(name="applied", namespace=NS).spec.count, 2)


def names(events):
    return [(event["type"], event["object"].metadata.name) for event in events]


@check
def watching():
    """a watch from a version tells each change after it once, and ends when told to"""
    api = client.CoordinationV1Api()
    since = api.create_namespaced_lease(NS, lease("watched-0")).metadata.resource_version
    api.create_namespaced_lease(NS, lease("watched-1"))
    api.patch_namespaced_lease("watched-1", NS, {"spec": {"holderIdentity": "x"}})
    api.delete_namespaced_lease("watched-1", NS)
    seen = []
    for event in watch.Watch().stream(
        api.list_namespaced_lease, NS, resource_version=since, timeout_seconds=1, allow_watch_bookmarks=True
    ):
        seen.append(event)
    equal(names(seen[:3]), [(kind, "watched-1") for kind in ("ADDED", "MODIFIED", "DELETED")])
    equal({event["type"] for event in seen[3:]} <= {"BOOKMARK"}, True)


@check
def watching_one():
    """a watch of one object by name begins with it; with initial events it says where they end"""
    leases = dynamic.DynamicClient(client.ApiClient()).resources.get(api_version="coordination.k8s.io/v1", kind="Lease")
    seen = []
    for event in leases.watch(namespace=NS, name="watched-0", timeout=1):
        seen.append(event["type"])
    equal(seen, ["ADDED"])
    for event in leases.watch(
        namespace=NS,
        name="watched-0",
        timeout=1,
        allow_watch_bookmarks=True,
        send_initial_events=True,
        resource_version_match="NotOlderThan",
    ):
        if event["type"] == "BOOKMARK":
            equal(event["raw_object"]["metadata"]["annotations"], {"k8s.io/initial-events-end": "true"})
            break
        seen.append(event["type"])
    equal(seen, ["ADDED", "ADDED"])


@check
def resuming():
    """a watch goes on by itself over a restart of the server"""
    api = client.CoordinationV1Api()
    since = api.create_namespaced_lease(NS, lease("resumed-0")).metadata.resource_version
    seen, watcher = [], watch.Watch()

    def follow():
        version = since
        while len(seen) < 2:
            try:
                for event in watcher.stream(api.list_namespaced_lease, NS, resource_version=version):
                    seen.append(event)
                    version = event["object"].metadata.resource_version
                    if len(seen) == 2:
                        watcher.stop()
            except ApiException:
                raise
            except Exception:
                time.sleep(0.05)

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    api.create_namespaced_lease(NS, lease("resumed-1"))
    until("the first is seen", lambda: len(seen) == 1)
    ask("restart")
    client.CoordinationV1Api().create_namespaced_lease(NS, lease("resumed-2"))
    until("the second is seen", lambda: len(seen) == 2)
    thread.join(DEADLINE)
    equal(names(seen), [("ADDED", "resumed-1"), ("ADDED", "resumed-2")])


@check
def gone():
    """a watch from a version that the server has forgotten is told 410"""
    api = client.CoordinationV1Api()
    since = api.create_namespaced_lease(NS, lease("forgotten")).metadata.resource_version
    api.delete_namespaced_lease("forgotten", NS)
    ask("forget")
    try:
        for event in watch.Watch().stream(
            client.CoordinationV1Api().list_namespaced_lease, NS, resource_version=since, timeout_seconds=2
        ):
            raise AssertionError(f"was told {event['type']}")
    except ApiException as error:
        equal((error.status, error.reason.startswith("Expired: too old resource version")), (410, True))
        return
    raise AssertionError("was not told")


@check
def informer():
    """an informer ends with what is stored, over a restart and a forgotten history"""
    api = client.CoordinationV1Api()
    api.create_namespaced_lease(NS, lease("informed-0"))
    followed = SharedInformer(api.list_namespaced_lease, namespace=NS)
    followed.start()

    def cached():
        return {item.metadata.name: item.metadata.resource_version for item in followed.cache.list()}

    def stored():
        items = client.CoordinationV1Api().list_namespaced_lease(NS).items
        return {item.metadata.name: item.metadata.resource_version for item in items}

    for turn, how in enumerate(["restart", "forget", "restart"], 1):
        until("the informer has what is stored", lambda: cached() == stored())
        api.create_namespaced_lease(NS, lease(f"informed-{turn}"))
        api.delete_namespaced_lease(f"informed-{turn - 1}", NS)
        ask(how)
        client.CoordinationV1Api().patch_namespaced_lease(f"informed-{turn}", NS, {"spec": {"holderIdentity": how}})
    until("the informer has what is stored", lambda: cached() == stored())
    followed.stop()


@check
def election():
    """of two candidates for a lease one leads, and the other when it stops renewing"""
    led = []

    def candidate(name):
        lock = LeaseLock("elected", NS, name)

        def lead():
            led.append(name)

        return electionconfig.Config(lock, 3, 2, 1, onstarted_leading=lead, onstopped_leading=lambda: None)

    first, second = candidate("first"), candidate("second")
    equal(leaderelection.LeaderElection(first).try_acquire_or_renew(), True)
    equal(leaderelection.LeaderElection(second).try_acquire_or_renew(), False)
    holder = client.CoordinationV1Api().read_namespaced_lease("elected", NS).spec.holder_identity
    equal(holder, "first")
    rival = leaderelection.LeaderElection(second)
    until("the other leads", rival.try_acquire_or_renew)
    spec = client.CoordinationV1Api().read_namespaced_lease("elected", NS).spec
    equal((spec.holder_identity, spec.lease_duration_seconds), ("second", 3))


def main():
    logging.basicConfig(level=logging.ERROR)
    config.load_kube_config()
    for function in CHECKS:
        try:
            function()
            say(check=function.__doc__)
        except Exception:
            say(check=function.__doc__, error=traceback.format_exc(limit=-4))


main()
