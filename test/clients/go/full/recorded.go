package main

import (
	"context"
	"fmt"

	"coppice.dev/test/clients/checks"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"
)

var recorded = []checks.Check{
	{Name: "events: recorded in the core group, and counted when told again", Try: coreEvents},
	{Name: "events: recorded in their own group, as a series when told again, and seen in the core group", Try: newEvents},
}

func aboutConfigMap(ctx context.Context, client kubernetes.Interface, name string) *corev1.ConfigMap {
	return checks.Got(client.CoreV1().ConfigMaps(ns).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}))
}

func coreEvents(ctx context.Context) {
	client := kubernetes.NewForConfigOrDie(checks.Dial().Config)
	about := aboutConfigMap(ctx, client, "told-of")
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events(ns)})
	recorder := broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "teller"})
	found := func() []corev1.Event {
		selector := client.CoreV1().Events(ns).GetFieldSelector(&about.Name, &about.Namespace, nil, nil)
		return checks.Got(client.CoreV1().Events(ns).List(ctx, metav1.ListOptions{FieldSelector: selector.String()})).Items
	}
	for count := int32(1); count <= 3; count++ {
		recorder.Event(about, corev1.EventTypeNormal, "Told", "the same")
		checks.Until(fmt.Sprintf("it is counted %d times", count), func() bool { return len(found()) == 1 && found()[0].Count == count })
	}
	checks.Equal([]string{found()[0].Source.Component, string(found()[0].InvolvedObject.UID)}, []string{"teller", string(about.UID)})
}

func newEvents(ctx context.Context) {
	client := kubernetes.NewForConfigOrDie(checks.Dial().Config)
	about := aboutConfigMap(ctx, client, "told-of-anew")
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	defer broadcaster.Shutdown()
	checks.Must(broadcaster.StartRecordingToSinkWithContext(ctx))
	recorder := broadcaster.NewRecorder(scheme.Scheme, "example.com/teller")
	for range 2 {
		recorder.Eventf(about, nil, corev1.EventTypeWarning, "Told", "Telling", "the same %s", "again")
	}
	checks.Until("it is a series in its own group", func() bool {
		for _, event := range checks.Got(client.EventsV1().Events(ns).List(ctx, metav1.ListOptions{})).Items {
			if event.Regarding.UID == about.UID {
				return event.Series != nil && event.Series.Count == 2 && event.Action == "Telling"
			}
		}
		return false
	})
	core := checks.Got(client.CoreV1().Events(ns).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.uid=" + string(about.UID)}))
	checks.Equal([]any{len(core.Items), core.Items[0].Message, core.Items[0].ReportingController}, []any{1, "the same again", "example.com/teller"})
}
