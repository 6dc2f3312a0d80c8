package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"coppice.dev/test/clients/checks"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/disk"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

var discovered = []checks.Check{
	{Name: "discovery: both ways name the same kinds", Try: bothWays},
	{Name: "discovery: caches on disk and in memory, refreshed when a kind is new", Try: cachedDiscovery},
	{Name: "discovery: names and short names to kinds and back", Try: mapped},
	{Name: "discovery: an OpenAPI document of each group that is named", Try: openAPI},
	{Name: "discovery: every kind that can be listed is listed and watched, as a table and as metadata", Try: everything},
}

// named lists what a discovery answered, without the verbs.
func named(lists []*metav1.APIResourceList) (names []string) {
	for _, list := range lists {
		for _, resource := range list.APIResources {
			names = append(names, fmt.Sprintf("%s %s %s %v", list.GroupVersion, resource.Name, resource.Kind, resource.Namespaced))
		}
	}
	slices.Sort(names)
	return names
}

func bothWays(ctx context.Context) {
	wire := checks.Dial()
	client := discovery.NewDiscoveryClientForConfigOrDie(wire.Config)
	_, aggregated, err := client.ServerGroupsAndResources()
	checks.Must(err)
	checks.Equal(wire.Asked("/apis?", "as=APIGroupDiscoveryList"), 1)
	client.UseLegacyDiscovery = true
	_, legacy, err := client.ServerGroupsAndResources()
	checks.Must(err)
	checks.Equal(named(aggregated), named(legacy))
	version := checks.Got(client.ServerVersion())
	checks.That("the version is one of Kubernetes", strings.HasPrefix(version.GitVersion, "v1."))
}

func cachedDiscovery(ctx context.Context) {
	wire := checks.Dial()
	folder := checks.Got(os.MkdirTemp("", "coppice-clients-"))
	defer os.RemoveAll(folder)
	onDisk := checks.Got(disk.NewCachedDiscoveryClientForConfig(wire.Config, folder+"/discovery", folder+"/http", time.Hour))
	inMemory := memory.NewMemCacheClient(discovery.NewDiscoveryClientForConfigOrDie(wire.Config))
	for _, client := range []discovery.CachedDiscoveryInterface{onDisk, inMemory} {
		names := func() int { return len(named(checks.Got(client.ServerPreferredResources()))) }
		before := names()
		plural := fmt.Sprintf("caches%dx", before)
		checks.Define(ctx, dynamic.NewForConfigOrDie(wire.Config), plural, fmt.Sprintf("Cache%dx", before))
		checks.Equal(names(), before)
		client.Invalidate()
		checks.Equal(names(), before+1)
	}
}

func mapped(ctx context.Context) {
	client := memory.NewMemCacheClient(discovery.NewDiscoveryClientForConfigOrDie(checks.Dial().Config))
	lazily := restmapper.NewDeferredDiscoveryRESTMapper(client)
	mapper := restmapper.NewShortcutExpander(lazily, client, func(warning string) {})
	for name, kind := range map[string]string{"cm": "ConfigMap", "ns": "Namespace", "vm": "VM", "secrets": "Secret", "crd": "CustomResourceDefinition"} {
		found := checks.Got(mapper.KindFor(schema.GroupVersionResource{Resource: name}))
		checks.Equal(found.Kind, kind)
		back := checks.Got(mapper.RESTMapping(found.GroupKind(), found.Version))
		checks.Equal(checks.Got(mapper.KindFor(back.Resource)), found)
	}
	checks.Define(ctx, dynamic.NewForConfigOrDie(checks.Dial().Config), "mappeds", "Mapped")
	lazily.Reset()
	checks.Equal(checks.Got(mapper.RESTMapping(schema.GroupKind{Group: checks.Group, Kind: "Mapped"})).Resource.Resource, "mappeds")
}

func openAPI(ctx context.Context) {
	client := discovery.NewDiscoveryClientForConfigOrDie(checks.Dial().Config)
	paths := checks.Got(client.OpenAPIV3().Paths())
	checks.That("core and our own are among them", paths["api/v1"] != nil && paths["apis/coppice.dev/v1"] != nil)
	for path, group := range paths {
		document := struct {
			Components struct{ Schemas map[string]any }
		}{}
		checks.Must(json.Unmarshal(checks.Got(group.Schema("application/json")), &document))
		checks.That(path+" has schemas", len(document.Components.Schemas) > 0)
	}
	second := checks.Got(client.OpenAPISchema())
	checks.That("version 2 has definitions", len(second.GetDefinitions().GetAdditionalProperties()) > 0)
}

// As k9s and Argo CD begin.
func everything(ctx context.Context) {
	config := checks.Dial().Config
	client := discovery.NewDiscoveryClientForConfigOrDie(config)
	lists := discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "watch"}}, checks.Got(client.ServerPreferredResources()))
	meta := metadata.NewForConfigOrDie(config)
	objects := dynamic.NewForConfigOrDie(config)
	seen := 0
	for _, list := range lists {
		version := checks.Got(schema.ParseGroupVersion(list.GroupVersion))
		for _, resource := range list.APIResources {
			seen++
			gvr := version.WithResource(resource.Name)
			table := tableOf(ctx, client.RESTClient(), gvr)
			checks.That("a column has the name", slices.ContainsFunc(table.ColumnDefinitions, isName))
			all := checks.Got(objects.Resource(gvr).List(ctx, metav1.ListOptions{}))
			checks.Equal([]any{gvr, all.GetKind(), len(all.Items)}, []any{gvr, resource.Kind + "List", len(table.Rows)})
			partial := checks.Got(meta.Resource(gvr).List(ctx, metav1.ListOptions{}))
			checks.Equal(len(partial.Items), len(table.Rows))
			stream := checks.Got(meta.Resource(gvr).Watch(ctx, metav1.ListOptions{}))
			for range partial.Items {
				event := <-stream.ResultChan()
				checks.That("each is told of", string(event.Type) == "ADDED" && event.Object.(*metav1.PartialObjectMetadata).UID != "")
			}
			stream.Stop()
		}
	}
	checks.That("there are many kinds", seen >= 12)
}

func isName(column metav1.TableColumnDefinition) bool { return column.Format == "name" }

func tableOf(ctx context.Context, client rest.Interface, gvr schema.GroupVersionResource) metav1.Table {
	root := "/apis/" + gvr.Group
	if gvr.Group == "" {
		root = "/api"
	}
	accept := "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
	text := checks.Got(client.Get().AbsPath(root, gvr.Version, gvr.Resource).SetHeader("Accept", accept).DoRaw(ctx))
	table := metav1.Table{}
	checks.Must(json.Unmarshal(text, &table))
	checks.Equal(table.Kind, "Table")
	for _, row := range table.Rows {
		checks.Equal([]any{gvr, len(row.Cells)}, []any{gvr, len(table.ColumnDefinitions)})
	}
	return table
}
