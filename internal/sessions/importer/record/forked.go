package record

// Forked makes the entries of a file with several conversations: the session's, and those of its forks.
type Forked struct {
	*Reading
	home          string
	conversations map[string]*Conversation
	names         []string // of conversations, in the order in which they began
}

// NewForked begins with the session alone.
func NewForked(r *Reading) *Forked {
	return &Forked{Reading: r, home: r.Home, conversations: map[string]*Conversation{}}
}

// In returns the conversation of a fork, or of the session if fork is "". Use it only until the next call of
// In. Calls that another conversation holds are emitted first, because one of them may have begun this fork.
func (f *Forked) In(fork string) *Conversation {
	if fork == "" {
		fork = f.home
	}
	if other := f.conversations[f.Home]; other != nil && fork != f.Home {
		other.PutCalls()
	}
	t := f.conversations[fork]
	if t == nil {
		t = &Conversation{Reading: f.Reading}
		f.conversations[fork] = t
		f.names = append(f.names, fork)
	}
	f.Home = fork
	return t
}

// Began reports whether a fork has begun.
func (f *Forked) Began(fork string) bool { return f.conversations[fork] != nil }

// End ends all conversations.
func (f *Forked) End() {
	for _, name := range f.names {
		f.In(name).End()
	}
}

// Damaged emits the event for a line that cannot be read.
func (f *Forked) Damaged(at Span, reason string) { f.In("").Damaged(at, reason) }

// BranchPrefix is the beginning of the names of forks with what a person took back.
const BranchPrefix = "branch-"

// Branches tells apart the branches of records that form a tree. The session is the path from the root to
// the last record. The records beside that path were abandoned.
type Branches struct {
	parents map[string]string
	kept    map[string]bool
	names   map[string]string // of branches, by their records
	last    string
}

// Add adds a record, in the order of the file; parent is "" for the root. A record whose parent is missing
// follows the record before it.
func (b *Branches) Add(id, parent string) {
	if b.parents == nil {
		b.parents = map[string]string{}
	}
	if _, ok := b.parents[id]; ok || id == "" {
		return
	}
	if _, ok := b.parents[parent]; !ok && parent != "" {
		parent = b.last
	}
	b.parents[id], b.last = parent, id
}

// Of returns the fork of a record, "" if it is in the session. It is called for the records in the order
// of the file, once all of them were added.
func (b *Branches) Of(id string) string {
	if b.kept == nil {
		b.kept, b.names = map[string]bool{}, map[string]string{}
		for at := b.last; at != ""; at = b.parents[at] {
			b.kept[at] = true
		}
	}
	if b.kept[id] || id == "" {
		return ""
	}
	if b.names[id] == "" {
		b.names[id] = BranchPrefix + id
		if name := b.names[b.parents[id]]; name != "" {
			b.names[id] = name
		}
	}
	return b.names[id]
}

// Once makes the keys of records, and finds those that are repeated.
type Once struct {
	seen   map[Sum]Sum // contents, by id
	counts Counter
}

// Key returns the key of a record: its id. If it has no id, or another record has the same one, the key is
// made from the content. Key returns "" for a record whose id came before with the same content.
func (o *Once) Key(id string, raw []byte) string {
	if id == "" {
		return o.counts.Key(raw)
	}
	if o.seen == nil {
		o.seen = map[Sum]Sum{}
	}
	at, content := SumOf(id), SumOf(raw)
	switch before, ok := o.seen[at]; {
	case !ok:
		o.seen[at] = content
		return id
	case before == content:
		return ""
	}
	return o.counts.Key(raw)
}
