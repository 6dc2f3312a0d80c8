package checks

import (
	"maps"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// Follower hears what an informer tells and adds it up; what does not add up is a fault.
type Follower struct {
	mutex  sync.Mutex
	summed map[string]string
	faults []string
	told   int
}

// Follow an informer.
func Follow(informer cache.SharedIndexInformer) *Follower {
	f := &Follower{summed: map[string]string{}}
	Got(informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { f.hear("add", object) },
		UpdateFunc: func(_, object any) { f.hear("update", object) },
		DeleteFunc: func(object any) { f.hear("delete", object) },
	}))
	return f
}

func (f *Follower) hear(verb string, object any) {
	if last, is := object.(cache.DeletedFinalStateUnknown); is {
		object = last.Obj
	}
	meta := object.(metav1.Object)
	name, version := meta.GetName(), meta.GetResourceVersion()
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.told++
	_, there := f.summed[name]
	if (verb == "add") == there {
		f.faults = append(f.faults, verb+" "+name)
	}
	if verb == "delete" {
		delete(f.summed, name)
	} else {
		f.summed[name] = version
	}
}

// Sum is what the events add up to.
func (f *Follower) Sum() map[string]string {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return maps.Clone(f.summed)
}

// Told counts the events so far.
func (f *Follower) Told() int {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.told
}

// Faults are events that cannot be: something added twice, or changed while it is not there.
func (f *Follower) Faults() []string {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.faults
}

// Versions of what an informer has.
func Versions(informer cache.SharedIndexInformer) map[string]string {
	versions := map[string]string{}
	for _, object := range informer.GetStore().List() {
		meta := object.(metav1.Object)
		versions[meta.GetName()] = meta.GetResourceVersion()
	}
	return versions
}
