package gitstore

import "sync"

// KeepObjects keeps what is read in memory, up to a bound, until release is called: for
// work that looks at the same objects more than once. Nobody may change what he is given.
func (r *Repo) KeepObjects() (release func()) {
	r.kept.use(1)
	return sync.OnceFunc(func() { r.kept.use(-1) })
}

// keptBytes bounds the objects that are kept.
const keptBytes = 32 << 20

// keptObjects are objects that were read lately, while somebody wants them kept.
type keptObjects struct {
	mu      sync.Mutex
	users   int
	objects generations[Hash]
}

type keptObject struct {
	kind Kind
	data []byte
}

func (k *keptObjects) use(more int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.users += more; k.users == 0 {
		k.objects = generations[Hash]{}
	}
}

func (k *keptObjects) get(h Hash) (keptObject, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.objects.get(h)
}

func (k *keptObjects) put(h Hash, o keptObject) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.users > 0 {
		k.objects.put(h, o)
	}
}

// generations are objects of keptBytes in all: when the younger half is full, the older
// one is dropped.
type generations[K comparable] struct {
	young, old map[K]keptObject
	bytes      int // of young
}

func (g *generations[K]) get(key K) (keptObject, bool) {
	o, ok := g.young[key]
	if !ok {
		if o, ok = g.old[key]; ok {
			g.put(key, o)
		}
	}
	return o, ok
}

func (g *generations[K]) put(key K, o keptObject) {
	const overhead = 128 // of an object in a map
	if len(o.data) > keptBytes/8 {
		return
	}
	g.bytes += len(o.data) + overhead
	if g.young == nil || g.bytes > keptBytes/2 {
		g.old, g.young, g.bytes = g.young, map[K]keptObject{}, len(o.data)+overhead
	}
	g.young[key] = o
}
