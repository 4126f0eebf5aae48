// Package sync brings the team's database up to date with the remotes. What it fetches is checked as tape fetch does,
// and masked. Then it is written tape by tape, with the commit up to which each tape was read.
package sync

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	stdsync "sync"
	"time"

	"golang.org/x/sync/errgroup"

	"tape/internal/git/gitobject"
	"tape/internal/git/gitstore"
	"tape/internal/serve/team/config"
	"tape/internal/serve/team/db"
	"tape/internal/store/about"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
)

// Options say what is brought up to date.
type Options struct {
	Config  *config.Config
	DB      *db.DB
	Remotes []string // names; empty means all
	Wait    bool     // wait if another worker has a remote; otherwise the remote is left to that worker
	Now     func() time.Time
	Log     *slog.Logger
}

// Result is what was done for a remote.
type Result struct {
	Remote  string
	Tapes   int   // changed or removed
	Entries int64 // added
	Removed int64 // entries, because their history was rewritten or their tape deleted
	Took    time.Duration
	Busy    bool // another worker has it
	Err     error
}

// workers is how many remotes are read at once, so that a slow one does not keep the others waiting.
const workers = 4

// Once brings the remotes up to date, and calls done for each as soon as it is finished, one call at a time. A remote
// that fails does not stop the others: its error is in its result.
func Once(ctx context.Context, o Options, done func(Result)) error {
	list, err := o.Config.Named(o.Remotes)
	if err != nil {
		return err
	}
	if err := o.DB.DropAudit(ctx, o.Now().AddDate(0, 0, -o.Config.AuditDays)); err != nil {
		return err
	}
	var wg stdsync.WaitGroup
	var mu stdsync.Mutex // for done
	room := make(chan struct{}, workers)
	for _, r := range list {
		wg.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			res := remote(ctx, o, r)
			mu.Lock()
			defer mu.Unlock()
			done(res)
		})
	}
	wg.Wait()
	return ctx.Err()
}

// remote brings one remote up to date.
func remote(ctx context.Context, o Options, r config.Remote) (res Result) {
	began := o.Now()
	res.Remote = r.Name
	defer func() { res.Took = o.Now().Sub(began) }()
	w, err := o.DB.Writer(ctx, r.Name, o.Wait)
	switch {
	case err != nil:
		res.Err = err
		return res
	case w == nil:
		res.Busy = true
		return res
	}
	defer w.Close()
	if res.Err = w.Tried(ctx, began); res.Err != nil {
		return res
	}
	j := &job{o: o, r: r, w: w, res: &res, rows: newRowMaker(o.DB.Key(), began)}
	res.Err = j.run(ctx)
	failure := ""
	if res.Err != nil {
		failure = oneLine(res.Err.Error())
	}
	if err := w.Done(context.WithoutCancel(ctx), began, failure); res.Err == nil {
		res.Err = err
	}
	return res
}

// job is one sync of one remote.
type job struct {
	o    Options
	r    config.Remote
	w    *db.Writer
	res  *Result
	rows *rowMaker
	m    *mirror

	change  *db.Change      // open, if not nil
	writing *errgroup.Group // one call of change at a time, while the next rows are made
	open    int             // rows in change
	pending Result          // what the commit of change adds to the result
}

func (j *job) run(ctx context.Context) error {
	var err error
	if j.m, err = openMirror(ctx, j.o.Config.Cache, j.r, &workspace.Options{Warn: func(said string) { j.o.Log.Warn(said, "remote", j.r.Name) }}); err != nil {
		return err
	}
	refused, err := j.m.fetch(ctx)
	if err != nil {
		return err
	}
	known, err := j.w.Tapes(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if j.change != nil {
			_ = j.writing.Wait()
			j.change.Rollback(ctx)
		}
	}()
	if err := j.tapes(ctx, known, refused); err != nil {
		return err
	}
	if len(refused) > 0 {
		first := refused[0]
		if len(refused) == 1 {
			return fmt.Errorf("refused %s: %w", first.Ref, first.Err)
		}
		return fmt.Errorf("refused %s and %d others: %w", first.Ref, len(refused)-1, first.Err)
	}
	return nil
}

// tapes reads every tape that has changed, and removes those that were deleted or are no longer taken.
func (j *job) tapes(ctx context.Context, known map[string]db.Tape, refused []layout.RefStatus) error {
	names, heads, err := j.m.heads()
	if err != nil {
		return err
	}
	kept := map[string]bool{} // a refused branch keeps its rows
	for _, s := range refused {
		kept[s.Ref] = true
	}
	for _, ref := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		h := heads[ref]
		had, has := known[ref]
		name := had.Name
		if !has {
			name = snapshot.RemoteName(j.m.store, layout.Incoming{Ref: ref, New: h})
		}
		if !j.r.Takes(name) {
			continue
		}
		kept[ref] = true
		if has && had.Watermark == h.String() {
			continue
		}
		if err := j.tape(ctx, ref, h, had, has); err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
	}
	for ref, t := range known {
		if kept[ref] {
			continue
		}
		if err := j.begin(ctx); err != nil {
			return err
		}
		if err := j.drop(ctx, t, true); err != nil {
			return err
		}
		j.pending.Tapes++
	}
	return j.commit(ctx)
}

// begin begins a change, if none is open.
func (j *job) begin(ctx context.Context) (err error) {
	if j.change == nil {
		j.change, err = j.w.Begin(ctx)
		j.writing = &errgroup.Group{}
	}
	return err
}

// write runs do in the background, while the next rows are made. It first waits for the call before, and returns its
// error.
func (j *job) write(do func() error) error {
	if err := j.writing.Wait(); err != nil {
		return err
	}
	j.writing.Go(do)
	return nil
}

// drop removes a tape's entries; if all is set, also the tape.
func (j *job) drop(ctx context.Context, t db.Tape, all bool) error {
	if err := j.writing.Wait(); err != nil {
		return err
	}
	n, err := j.change.Drop(ctx, t, all)
	j.pending.Removed += n
	return err
}

func (j *job) commit(ctx context.Context) error {
	if j.change == nil {
		return nil
	}
	if err := j.writing.Wait(); err != nil {
		return err
	}
	if err := j.change.Commit(ctx); err != nil {
		return err
	}
	j.res.Tapes += j.pending.Tapes
	j.res.Entries += j.pending.Entries
	j.res.Removed += j.pending.Removed
	j.change, j.pending, j.open = nil, Result{}, 0
	return nil
}

// Rows are sent in chunks of up to chunkRows rows or about chunkBytes bytes. A transaction ends after the first tape
// with which it has at least commitRows rows.
const (
	chunkRows  = 1000
	chunkBytes = 4 << 20
	commitRows = 5000
)

// tape reads what was added to a tape since its watermark, or all of it if its history was rewritten.
func (j *job) tape(ctx context.Context, ref string, h gitstore.Hash, had db.Tape, has bool) error {
	t, err := snapshot.TapeAt(j.m.store, ref, h)
	if err != nil {
		return err
	}
	v, err := snapshot.AtCommit(j.m.store, h)
	if err != nil {
		return err
	}
	if err := j.begin(ctx); err != nil {
		return err
	}
	next := had
	base := j.base(v, had, has)
	if base == nil { // from the beginning
		if has {
			if err := j.drop(ctx, had, false); err != nil {
				return err
			}
		}
		next = db.Tape{ID: had.ID, Ref: ref}
		if base, err = forkBase(j.m.store, t, h); err != nil {
			return err
		}
	}
	if next.ID == 0 {
		if next.ID, err = j.w.NewID(ctx); err != nil {
			return err
		}
	}
	next.Name, next.Watermark = clean(t.Name()), h.String()
	next.Owner = clean(snapshot.Owner(t, h))
	if err := j.entries(ctx, v, base, &next); err != nil {
		return err
	}
	if err := j.write(func() error { return j.change.Put(ctx, next) }); err != nil {
		return err
	}
	j.pending.Tapes++
	if j.open >= commitRows {
		return j.commit(ctx)
	}
	return nil
}

// base returns the state of a tape that the database has, nil if the tape does not continue it.
func (j *job) base(v *snapshot.Snapshot, had db.Tape, has bool) *snapshot.Snapshot {
	h, err := gitobject.ParseHash(had.Watermark)
	if !has || err != nil {
		return nil
	}
	base, err := snapshot.AtCommit(j.m.store, h)
	if err != nil {
		return nil // a new copy does not have the commit
	}
	if ok, err := v.Continues(base); err != nil || !ok {
		return nil
	}
	return base
}

// forkBase returns what a fork shares with its parent; nil for a tape, or for a branch that git has made.
func forkBase(s *workspace.Store, t *workspace.Tape, h gitstore.Hash) (*snapshot.Snapshot, error) {
	if !t.IsFork() {
		return nil, nil
	}
	b, ok, err := snapshot.MadeBase(t, h)
	if err != nil || !ok {
		return nil, err
	}
	return snapshot.AtCommit(s, b.Start)
}

// entries writes the entries after a base, and adds them to the sums and the description in t.
func (j *job) entries(ctx context.Context, v, base *snapshot.Snapshot, t *db.Tape) error {
	var facts about.Tape
	if t.About != "" {
		if err := json.Unmarshal([]byte(t.About), &facts); err != nil {
			return err
		}
	}
	var chunk []db.Row
	size := 0
	flush := func() error {
		id, rows := t.ID, chunk
		j.pending.Entries += int64(len(rows))
		j.open += len(rows)
		chunk, size = nil, 0
		return j.write(func() error { return j.change.Add(ctx, id, rows) })
	}
	for e, err := range v.After(ctx, base, t.Name) {
		if err != nil {
			return err
		}
		length := len(e.Raw)
		attached := j.rows.maskedText(v.AttachedText(e))
		if e, err = j.rows.masked(e); err != nil {
			return err
		}
		facts.Add(e)
		row := j.rows.row(e, t.Owner, length, attached)
		extend(t, row)
		chunk = append(chunk, row)
		if size += len(row.Text) + len(row.Line); len(chunk) >= chunkRows || size >= chunkBytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	return describe(t, facts)
}

// Watch calls Once until the context ends; every is the pause between two calls. What fails is tried again. A database
// that was dropped and created again gets its tables. Watch returns an error only if a name in o.Remotes is unknown.
func Watch(ctx context.Context, o Options, every time.Duration, done func(Result)) error {
	for {
		err := Once(ctx, o, done)
		if errors.Is(err, db.ErrNoTables) {
			var did string
			if did, err = o.DB.Prepare(ctx); did != "" {
				o.Log.Info(did)
				continue
			}
		}
		switch {
		case errors.Is(err, layout.ErrNotFound):
			return err
		case err != nil && ctx.Err() == nil:
			o.Log.Warn("try again later", "error", err) // the database may come back
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(every):
		}
	}
}
