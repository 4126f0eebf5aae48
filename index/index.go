package index

import (
	"context"
	"errors"
	"fmt"
	"os"
	"tape/internal/store/join"
	"tape/internal/store/workspace"

	"tape/index/internal/store"
	"tape/repo"
)

// Options say how an index is used.
type Options struct {
	// Progress is called from time to time with the number of entries that a call has added so far.
	Progress func(entries int64)
	// Shown, if set, makes the index a shown index: of entries as a masked run sees them, so that a search
	// does not reveal more. It does not have what tapes are about. Nil means an index of
	// entries as they are stored.
	Shown *Shown
	// Seen, if set, is called for entries that may match a search for words. It returns the entry as the
	// caller sees it, and false if the caller does not see it. Result.Matches may include unseen entries.
	// It is not called for the entries around a hit (Search.Context).
	Seen func(repo.Entry) (repo.Entry, bool)
}

// Shown says how entries are seen.
type Shown struct {
	Version string // of Entry: when it changes, the index is rebuilt
	Entry   func(*repo.Tape, repo.Entry) repo.Entry
}

// Index is a workspace's index. It is opened when it is first needed, and is for one goroutine. If the
// workspace is not writable, the index is in memory until Close.
type Index struct {
	store     *repo.Store
	elsewhere map[int64]bool // see CountElsewhere
	progress  func(int64)
	many      int64 // see manyEntries
	path      string
	view      store.View
	seen      func(repo.Entry) (repo.Entry, bool)

	db     *store.DB
	file   os.FileInfo // of db's file; nil in memory
	memory bool
}

// New returns the index of a workspace, without opening it. Nil options mean the defaults.
func New(s *repo.Store, o *Options) *Index {
	x := &Index{store: s, progress: func(int64) {}, many: manyEntries, path: s.IndexFile()}
	if o != nil {
		x.seen = o.Seen
	}
	if o != nil && o.Progress != nil {
		x.progress = o.Progress
	}
	if o != nil && o.Shown != nil {
		x.path, x.view = shownFile(s), store.Shown(o.Shown.Version, o.Shown.Entry)
	}
	return x
}

func shownFile(s *repo.Store) string { return s.PrivatePath("shown.db") }

// DropShown removes the shown index; see Options.Shown. The next search with Options.Shown makes it again.
func DropShown(s *repo.Store) error { return store.Remove(shownFile(s)) }

// Close closes the database. The index can be used again afterwards.
func (x *Index) Close() error {
	if x.db == nil {
		return nil
	}
	err := x.db.Close()
	x.db, x.file, x.memory = nil, nil, false
	return err
}

// Synced is what a Sync or Rebuild did.
type Synced struct {
	Entries int64 // entries that the call added
	Total   int64 // entries in the index; those that forks share with their parents count once
	Tapes   int   // tapes and open forks in the index
}

// Sync brings the index up to date with every tape and open fork of the workspace, and removes tapes and forks
// that no longer exist. ErrBusy if another process writes to the index for too long.
func (x *Index) Sync(ctx context.Context) (Synced, error) {
	tapes, err := store.All(ctx, x.store, nil)
	if err != nil {
		return Synced{}, err
	}
	added, err := x.readyFile(ctx, tapes, true)
	if err != nil {
		return Synced{}, fmt.Errorf("write the index: %w", classify(err))
	}
	return x.synced(added)
}

// Rebuild rebuilds the index from the history and working trees of all tapes and open forks.
func (x *Index) Rebuild(ctx context.Context) (Synced, error) {
	tapes, err := store.All(ctx, x.store, nil)
	if err != nil {
		return Synced{}, err
	}
	added, err := x.locked(ctx, func() (int64, error) { return x.build(ctx, tapes, false) })
	if err != nil {
		return Synced{}, fmt.Errorf("rebuild the index: %w", classify(err))
	}
	return x.synced(added)
}

func (x *Index) synced(added int64) (Synced, error) {
	tapes, total, err := x.db.Totals()
	return Synced{Entries: added, Total: total, Tapes: tapes}, classify(err)
}

// Status is the state of the index.
type Status struct {
	File     string
	State    string // absent, outdated, damaged, foreign, stale or fresh
	Entries  int64
	Tapes    int // tapes and forks in the index
	Stale    int // tapes and forks that changed since they were read, or no longer exist
	Bytes    int64
	Segments int // parts of the table of words
	Schema   int // version of the tables
}

// Fresh reports whether a search would have nothing to add.
func (s Status) Fresh() bool { return s.State == "fresh" }

// Status describes the index without changing it.
func (x *Index) Status(ctx context.Context) (Status, error) {
	tapes, err := store.All(ctx, x.store, nil)
	if err != nil {
		return Status{}, err
	}
	return x.statusOf(ctx, tapes, true)
}

// State returns the state of the index with regard to one tape; see Status.State.
func (x *Index) State(ctx context.Context, t *repo.Tape) (string, error) {
	tapes, err := store.WithParents(ctx, x.store, []*repo.Tape{t})
	if err != nil {
		return "", err
	}
	st, err := x.statusOf(ctx, tapes, false)
	return st.State, err
}

const stateStale = "stale"

func (x *Index) statusOf(ctx context.Context, tapes []*store.Target, all bool) (Status, error) {
	out := Status{File: x.path, Schema: store.SchemaVersion, Stale: len(tapes)}
	if st, err := os.Stat(out.File); err == nil {
		out.Bytes = st.Size()
	}
	state, err := x.view.StateOf(out.File)
	if err != nil {
		return out, err
	}
	if out.State = string(state); state != store.Fresh {
		return out, nil
	}
	// Not read-only: a killed writer may have left a journal to roll back.
	d, err := store.Open(out.File)
	if err == nil {
		err = errors.Join(out.read(ctx, d, tapes, all), d.Close())
	}
	switch {
	case store.IsUnwritable(err):
		out.State, err = stateStale, nil
	case store.IsDamage(err):
		out.State, err = string(store.Damaged), nil
	}
	return out, classify(err)
}

func (s *Status) read(ctx context.Context, d *store.DB, tapes []*store.Target, all bool) error {
	has, err := d.Has(tapes)
	if err != nil {
		return err
	}
	if s.Stale, err = d.Stale(ctx, tapes, has, all); err != nil {
		return err
	}
	if s.Stale > 0 {
		s.State = stateStale
	}
	if s.Tapes, s.Entries, err = d.Totals(); err != nil {
		return err
	}
	x, err := d.Words()
	if err == nil {
		s.Segments = x.Segments()
	}
	return err
}

// ready opens a database, brings it up to date with the given tapes, and returns how many entries it added. all is as
// in readyFile.
func (x *Index) ready(ctx context.Context, tapes []*store.Target, all bool) (int64, error) {
	if x.memory {
		added, err := x.db.CatchUp(ctx, tapes, x.progress)
		if err == nil && all {
			err = x.db.DropGone(ctx, x.store, tapes)
		}
		return added, err
	}
	added, err := x.readyFile(ctx, tapes, all)
	if store.IsUnwritable(err) {
		return x.inMemory(ctx, tapes, err)
	}
	return added, classify(err)
}

// readyFile is like ready, but always with the index file, never in memory. With all, tapes has all tapes, and
// other tapes are removed from the index.
func (x *Index) readyFile(ctx context.Context, tapes []*store.Target, all bool) (int64, error) {
	// Nothing may be read from a replaced file: SQLite finds the journal by name, and would apply the new
	// file's journal to the old file.
	if err := x.openCurrent(); err != nil {
		return 0, err
	}
	if x.db != nil {
		has, err := x.db.Has(tapes)
		stale := 0
		if err == nil {
			stale, err = x.db.Stale(ctx, tapes, has, all)
		}
		if err == nil && stale == 0 || err != nil && !store.IsDamage(err) {
			return 0, err
		}
	}
	return x.locked(ctx, func() (int64, error) { return x.underLock(ctx, tapes, all) })
}

// locked runs f while no other process writes to the index. If f fails because of an incomplete merge, it
// completes the merge and runs f again.
func (x *Index) locked(ctx context.Context, f func() (int64, error)) (added int64, err error) {
	err = join.WithMergesCompleted(ctx, func() error {
		unlock, err := (*workspace.Store)(x.store).LockIndex(ctx)
		if err != nil {
			return err
		}
		added, err = f()
		return errors.Join(err, unlock())
	})
	return added, err
}

// underLock brings the index up to date, or rebuilds it if it is missing or unusable.
func (x *Index) underLock(ctx context.Context, tapes []*store.Target, all bool) (int64, error) {
	if err := x.openCurrent(); err != nil { // another process may have built a new index meanwhile
		return 0, err
	}
	if x.db == nil {
		if err := x.setAside(); err != nil {
			return 0, err
		}
		return x.build(ctx, tapes, false)
	}
	x.db.Most = x.many
	added, err := x.db.CatchUp(ctx, tapes, x.progress)
	if errors.Is(err, store.ErrTooMany) {
		var more int64
		more, err = x.build(ctx, tapes, true)
		added += more
	}
	if err == nil && all {
		err = x.db.DropGone(ctx, x.store, tapes)
	}
	if store.IsDamage(err) {
		(*workspace.Store)(x.store).Warn(fmt.Sprintf("the index was damaged, and is rebuilt: %v", err))
		return x.build(ctx, tapes, false)
	}
	return added, err
}

// inMemory makes an index in memory, and warns with the reason.
func (x *Index) inMemory(ctx context.Context, tapes []*store.Target, why error) (int64, error) {
	(*workspace.Store)(x.store).Warn(fmt.Sprintf("the index cannot be written (%v): this command uses one in memory", why))
	if err := x.Close(); err != nil {
		return 0, err
	}
	d, err := store.Open("")
	if err != nil {
		return 0, err
	}
	d.View = x.view
	x.db, x.memory = d, true
	added, err := d.Fill(ctx, tapes, x.progress)
	return added, classify(err)
}

// classify turns an error of a busy database into an ErrBusy.
func classify(err error) error {
	if store.IsBusy(err) {
		return fmt.Errorf("%w: another process has been writing to the index for %s", repo.ErrBusy, store.BusyWait)
	}
	return err
}
