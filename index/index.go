package index

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"tape/index/internal/fts5"
	"tape/repo"
)

// Options change how an index is used. Nil means the defaults.
type Options struct {
	// Progress is told now and then how many entries a call has taken up so far.
	Progress func(entries int64)
}

// Index is a workspace's index. It is opened when it is first needed, and is for one
// goroutine. What cannot be written to the workspace is kept in memory until Close.
type Index struct {
	store    *repo.Store
	progress func(int64)
	many     int64 // see manyEntries

	db     *db
	file   os.FileInfo // that of db; nil in memory
	memory bool
}

// New returns the index of a workspace. It does nothing yet.
func New(store *repo.Store, o *Options) *Index {
	x := &Index{store: store, progress: func(int64) {}, many: manyEntries}
	if o != nil && o.Progress != nil {
		x.progress = o.Progress
	}
	return x
}

// Close closes the database.
func (x *Index) Close() error {
	if x.db == nil {
		return nil
	}
	err := x.db.close()
	x.db, x.file, x.memory = nil, nil, false
	return err
}

// Synced tells what a Sync or Rebuild did.
type Synced struct {
	Entries int64 // taken up by the call
	Total   int64 // in the index, of all tapes; what forks have of their parents counts once
	Tapes   int   // and open forks
}

// Sync brings the index up to date with every tape and open fork of the workspace, and
// forgets those that are gone.
func (x *Index) Sync(ctx context.Context) (Synced, error) {
	tapes, err := x.all(ctx)
	if err != nil {
		return Synced{}, err
	}
	added, err := x.readyFile(ctx, tapes, true)
	if err != nil {
		return Synced{}, fmt.Errorf("write the index: %w", classify(err))
	}
	return x.synced(added)
}

// Rebuild makes the index anew from the history and the working trees of all tapes
// and open forks.
func (x *Index) Rebuild(ctx context.Context) (Synced, error) {
	tapes, err := x.all(ctx)
	if err != nil {
		return Synced{}, err
	}
	unlock, err := x.store.LockIndex(ctx)
	if err != nil {
		return Synced{}, err
	}
	added, err := x.build(ctx, tapes)
	if err := errors.Join(err, unlock()); err != nil {
		return Synced{}, fmt.Errorf("rebuild the index: %w", classify(err))
	}
	return x.synced(added)
}

func (x *Index) synced(added int64) (Synced, error) {
	out := Synced{Entries: added}
	_, err := x.db.row("SELECT count(*), coalesce(sum(entries - base), 0) FROM tapes", nil, &out.Tapes, &out.Total)
	return out, classify(err)
}

// Status is what state the index is in.
type Status struct {
	File     string
	State    string // absent, outdated, damaged, foreign, stale or fresh
	Entries  int64
	Tapes    int // and forks, that the index has
	Stale    int // those of which it does not have everything, or that are gone
	Bytes    int64
	Segments int // parts of the table of words
	Schema   int
}

// Fresh reports whether a search would have nothing to catch up with.
func (s Status) Fresh() bool { return s.State == "fresh" }

// Status looks at the index without changing it.
func (x *Index) Status(ctx context.Context) (Status, error) {
	tapes, err := x.all(ctx)
	if err != nil {
		return Status{}, err
	}
	return x.statusOf(ctx, tapes, true)
}

// State is the state of the index as far as one tape is concerned.
func (x *Index) State(t *repo.Tape) (string, error) {
	ctx := context.Background()
	tapes, err := x.withParents(ctx, []*repo.Tape{t})
	if err != nil {
		return "", err
	}
	st, err := x.statusOf(ctx, tapes, false)
	return st.State, err
}

func (x *Index) statusOf(ctx context.Context, tapes []*target, all bool) (Status, error) {
	out := Status{File: x.store.IndexFile(), Schema: schemaVersion, Stale: len(tapes)}
	if st, err := os.Stat(out.File); err == nil {
		out.Bytes = st.Size()
	}
	what, err := look(out.File)
	if err != nil {
		return out, err
	}
	if out.State = what.String(); what != current {
		return out, nil
	}
	// Not for reading only: a writer that was killed may have left a journal.
	d, err := openDB(out.File, writing)
	if err == nil {
		err = errors.Join(d.status(ctx, tapes, all, &out), d.close())
	}
	if isUnwritable(err) {
		out.State = "stale"
		return out, nil
	}
	if isDamage(err) {
		out.State = damaged.String()
		return out, nil
	}
	return out, classify(err)
}

func (f found) String() string {
	return [...]string{absent: "absent", current: "fresh", outdated: "outdated", damaged: "damaged", foreign: "foreign"}[f]
}

func (d *db) status(ctx context.Context, tapes []*target, all bool, out *Status) error {
	stale, err := d.stale(ctx, tapes)
	if err != nil {
		return err
	}
	out.Stale = len(stale)
	if all {
		gone, err := d.gone(tapes)
		if err != nil {
			return err
		}
		out.Stale += len(gone)
	}
	if out.Stale > 0 {
		out.State = "stale"
	}
	if _, err := d.row("SELECT count(*), coalesce(sum(entries - base), 0) FROM tapes", nil, &out.Tapes, &out.Entries); err != nil {
		return err
	}
	x, err := fts5.Open(pages{d})
	if err == nil {
		out.Segments = x.Segments()
	}
	return err
}

// ready opens a database that has everything of the given tapes. It returns how many
// entries that took.
func (x *Index) ready(ctx context.Context, tapes []*target) (int64, error) {
	if x.memory {
		return x.db.catchUp(ctx, tapes, x.progress)
	}
	added, err := x.readyFile(ctx, tapes, false)
	if isUnwritable(err) {
		return x.inMemory(ctx, tapes, err)
	}
	return added, classify(err)
}

// readyFile is ready for the file; all means that these are all tapes there are, and that
// what the index has of others goes.
func (x *Index) readyFile(ctx context.Context, tapes []*target, all bool) (int64, error) {
	// Of a file that was replaced nothing may be read: SQLite would take the journal of
	// the new one, which it knows by the name, for that of the old one.
	if x.db != nil && !x.isCurrent() {
		if err := x.Close(); err != nil {
			return 0, err
		}
	}
	if x.db == nil {
		if err := x.openFile(); err != nil {
			return 0, err
		}
	}
	if x.db != nil {
		stale, err := x.db.stale(ctx, tapes)
		var gone []goneTape
		if err == nil && all {
			gone, err = x.db.gone(tapes)
		}
		if err == nil && len(stale)+len(gone) == 0 {
			return 0, nil
		}
		if err != nil && !isDamage(err) {
			return 0, err
		}
	}
	unlock, err := x.store.LockIndex(ctx)
	if err != nil {
		return 0, err
	}
	added, err := x.underLock(ctx, tapes, all)
	return added, errors.Join(err, unlock())
}

// underLock catches up, or builds what is not there or no good.
func (x *Index) underLock(ctx context.Context, tapes []*target, all bool) (int64, error) {
	if !x.isCurrent() { // another process built a new one meanwhile
		if err := errors.Join(x.Close(), x.openFile()); err != nil {
			return 0, err
		}
	}
	if x.db == nil {
		if err := x.makeRoom(); err != nil {
			return 0, err
		}
		return x.build(ctx, tapes)
	}
	x.db.most = x.many
	added, err := x.db.catchUp(ctx, tapes, x.progress)
	if errors.Is(err, errMany) {
		var more int64
		more, err = x.extend(ctx, tapes)
		added += more
	}
	if err == nil && all {
		err = x.db.dropGone(tapes)
	}
	if isDamage(err) {
		x.store.Warn(fmt.Sprintf("the index was damaged, and is built anew: %v", err))
		return x.build(ctx, tapes)
	}
	return added, err
}

// inMemory makes an index that lasts as long as the program does.
func (x *Index) inMemory(ctx context.Context, tapes []*target, why error) (int64, error) {
	x.store.Warn(fmt.Sprintf("the index cannot be written (%v): this search makes its own, in memory", why))
	if err := x.Close(); err != nil {
		return 0, err
	}
	d, err := openDB("", creating)
	if err != nil {
		return 0, err
	}
	x.db, x.memory = d, true
	added, err := d.fillNew(ctx, tapes, x.progress)
	return added, classify(err)
}

func isReadOnlyFS(err error) bool {
	return errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.ENOSPC)
}

// classify makes an index that stays busy an ErrBusy.
func classify(err error) error {
	if isBusy(err) {
		return fmt.Errorf("%w: another process has been writing to the index for %s", repo.ErrBusy, busyWait*time.Millisecond)
	}
	return err
}
