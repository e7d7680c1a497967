package relations

import (
	"maps"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// store holds the objects that the plugin was told of, behind the face that
// kube-scheduler's plugins read objects through. It watches nothing and is never started.
type store struct {
	informers.SharedInformerFactory
	shelves map[reflect.Type]*shelf
}

// shelved are the objects that kube-scheduler's plugins ask for. Pods and nodes come
// from the model: their shelves stay empty.
func shelved() []runtime.Object {
	return []runtime.Object{
		&corev1.Pod{}, &corev1.Node{}, &corev1.Namespace{},
		&corev1.PersistentVolumeClaim{}, &corev1.PersistentVolume{},
		&storagev1.StorageClass{}, &storagev1.CSINode{}, &storagev1.CSIDriver{},
		&storagev1.CSIStorageCapacity{}, &storagev1.VolumeAttachment{},
		&resourcev1.ResourceClaim{}, &resourcev1.ResourceSlice{}, &resourcev1.DeviceClass{}, &resourcev1.DeviceTaintRule{},
	}
}

func newStore() *store {
	s := &store{
		SharedInformerFactory: informers.NewSharedInformerFactory(nil, 0),
		shelves:               map[reflect.Type]*shelf{},
	}
	for _, kind := range shelved() {
		sh := &shelf{indexer: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})}
		s.InformerFor(kind, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer { return sh })
		s.shelves[reflect.TypeOf(kind)] = sh
	}
	return s
}

// learn puts an object on its shelf, or takes it off; false when it has none.
func (s *store) learn(o runtime.Object, gone bool) bool {
	sh := s.shelves[reflect.TypeOf(o)]
	if sh == nil {
		return false
	}
	return sh.learn(o, gone) == nil
}

// shelf is the objects of one kind. It tells its handlers of a change before learn returns.
type shelf struct {
	cache.SharedIndexInformer // what only a running informer can answer; nil
	indexer                   cache.Indexer
	handlers                  []cache.ResourceEventHandler
}

func (s *shelf) learn(o runtime.Object, gone bool) error {
	old, existed, err := s.indexer.Get(o)
	if err != nil {
		return err
	}
	switch {
	case gone:
		err = s.indexer.Delete(o)
	case existed:
		err = s.indexer.Update(o)
	default:
		err = s.indexer.Add(o)
	}
	for _, h := range s.handlers {
		switch {
		case gone && existed:
			h.OnDelete(old)
		case gone:
		case existed:
			h.OnUpdate(old, o)
		default:
			h.OnAdd(o, false)
		}
	}
	return err
}

func (s *shelf) GetIndexer() cache.Indexer { return s.indexer }

func (s *shelf) GetStore() cache.Store { return s.indexer }

// AddIndexers adds those that are new: a plugin that is made again asks for its own again.
func (s *shelf) AddIndexers(more cache.Indexers) error {
	fresh := maps.Clone(more)
	maps.DeleteFunc(fresh, func(name string, _ cache.IndexFunc) bool { return s.indexer.GetIndexers()[name] != nil })
	return s.indexer.AddIndexers(fresh)
}

func (s *shelf) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return s.AddEventHandlerWithOptions(h, cache.HandlerOptions{})
}

func (s *shelf) AddEventHandlerWithOptions(h cache.ResourceEventHandler, _ cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	s.handlers = append(s.handlers, h)
	return told{}, nil
}

// told is the registration of a handler that was told everything there is: at first, nothing.
type told struct{}

func (told) HasSynced() bool { return true }

func (t told) HasSyncedChecker() cache.DoneChecker { return t }

func (told) Name() string { return "" }

func (told) Done() <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}

func (*shelf) HasSynced() bool { return true }
