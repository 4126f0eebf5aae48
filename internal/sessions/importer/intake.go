package importer

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"tape/internal/git/projectgit"
	"tape/internal/sessions/importer/record"
	"tape/internal/store/about"
	"tape/internal/store/join"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
	"tape/internal/store/writer"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// intake writes the items of one file to a tape, in one change.
type intake struct {
	store  *repo.Store
	bulk   *writer.Bulk // for a new tape
	format *record.Format
	info   record.Info
	res    *Result
	stats  *record.Stats // of the reading
	noSubs bool          // leave out subagents
	live   bool          // more may be written to the file

	forkedFrom string // the id of the session that this one was forked from, if that is found

	inline bool // large results and pictures stay in their entries
	again  *again

	beginning
	tx        *repo.Tx              // nil while the tape does not exist
	have      map[[16]byte]int      // numbers of the tape's entries, by key
	matched   map[int]struct{}      // numbers of entries that the file has as well
	out       map[[16]byte]struct{} // keys of what is left out
	inContext map[[16]byte]struct{} // of a live session: keys of users' messages in the tape's context
	names     map[string]string     // of forks, by subagent
	forks     []*openFork           // in the order in which they began
	held      int                   // bytes of their entries
	limit     int                   // for held

	turn  turn
	grown int // bytes of entries since the last commit of a turn

	git *projectgit.Resolver

	err      error // the first
	repeated int   // opening anchors that were left out: 0 or 1
	entries  int   // that loadKeys has read: their numbers are in have
}

// maxForks bounds the open forks in memory. Beyond it, the largest one is merged before its result has
// come, and continues as another fork.
const maxForks = 16 << 20 // bytes

func newIntake(store *repo.Store, bulk *writer.Bulk, f *record.Format, info record.Info, o Options, res *Result) *intake {
	return &intake{turn: turn{secrets: (*workspace.Store)(store).Config().Scanner}, store: store, bulk: bulk, format: f, info: info, res: res, noSubs: o.NoSubagents, live: o.live, inline: o.Inline, again: o.again, limit: maxForks,
		have: map[[16]byte]int{}, matched: map[int]struct{}{}, out: map[[16]byte]struct{}{}, inContext: map[[16]byte]struct{}{}, names: map[string]string{}}
}

// read reads a file onto the tape. It makes a new tape once the file has all that the tape's opening needs.
func (in *intake) read(ctx context.Context, src record.Source) (*record.Reading, error) {
	r := &record.Reading{Source: src, Format: in.info.Format}
	in.stats = &r.Stats
	r.IsCopy = in.findCopies(ctx, src)
	r.Seen = func(sub, key string) bool { return in.seen(ctx, sub, key) }
	r.Emit = func(item record.Item) error { return in.add(ctx, item) }
	r.TookBack = in.takenBack
	var err error
	in.unfinished = src.Open
	if in.openTape(ctx); in.err == nil && (in.tx != nil || in.info.Complete || !src.Open) {
		err = readInto(ctx, in.format, r)
	}
	return r, in.finish(ctx, err)
}

// openTape opens the tape for changes, if it exists and is not replaced by [Again].
func (in *intake) openTape(ctx context.Context) {
	tape, err := in.store.Tape(ctx, in.res.Tape)
	switch {
	case err == nil && in.again == nil:
		in.begin(ctx, tape)
	case !errors.Is(err, repo.ErrNotFound):
		in.fail(err)
	}
}

// fail keeps the first error. Nothing is added after it.
func (in *intake) fail(err error) {
	if in.err == nil {
		in.err = err
	}
}

func keyHash(key string) [16]byte {
	sum := sha256.Sum256([]byte(key))
	return [16]byte(sum[:16])
}

// begin takes the tape's lock before it reads the tape, so that one of two imports of the same file waits
// for the other.
func (in *intake) begin(ctx context.Context, tape *repo.Tape) {
	err := join.WithMergesCompleted(ctx, func() (err error) {
		in.tx, err = writer.BeginBare(ctx, (*workspace.Tape)(tape))
		return err
	})
	if err == nil {
		err = in.tx.DateCommits()
	}
	if err == nil {
		in.tx.Describe(in.turn.message)
		err = in.loadKeys(ctx, tape)
	}
	in.fail(err)
}

// loadKeys adds the keys of a tape's entries to in.have.
func (in *intake) loadKeys(ctx context.Context, tape *repo.Tape) error {
	keys := keysOf(in.format)
	for e, err := range tape.Entries(ctx, repo.Query{}) {
		if err != nil {
			return err
		}
		in.entries++
		if !tape.IsFork() && tape.Name() == in.res.Tape && !e.Hidden() {
			in.turn.know(e)
		}
		has, err := keys(e)
		if err != nil {
			return err
		}
		for _, key := range has {
			in.have[keyHash(key)] = in.entries
			if in.live && tape.Name() == in.res.Tape && e.Role() == "user" && !e.Hidden() {
				in.inContext[keyHash(key)] = struct{}{}
			}
		}
	}
	return nil
}

// seen reports whether the tape has a key, or whether the key is of a subagent that is left out.
func (in *intake) seen(ctx context.Context, sub, key string) bool {
	if sub != "" {
		if in.noSubs {
			in.out[keyHash(sub+"\x00"+key)] = struct{}{}
			return true
		}
		in.forkName(ctx, sub)
	}
	entry, ok := in.have[keyHash(key)]
	if ok {
		in.matched[entry] = struct{}{}
	}
	if strings.HasPrefix(sub, record.BranchPrefix) {
		in.takenBack(key)
	}
	return ok
}

// takenBack notes that a person took back an entry that the tape may have in its context.
func (in *intake) takenBack(key string) {
	if _, ok := in.inContext[keyHash(key)]; ok {
		in.res.tookBack = true
	}
}

// put adds an item to the tape.
func (in *intake) put(ctx context.Context, item record.Item) error {
	item = in.withCommit(ctx, item)
	opens := in.tx == nil && in.err == nil && in.create(ctx, item)
	switch {
	case opens || in.err != nil:
	case isOpening(item) && in.res.Imported == 0 && len(in.matched) == 0 && in.repeated == 0:
		// The tape already begins with an anchor. Without the file's opening anchor, the entries of an
		// exported tape keep their ids.
		in.repeated++
		return nil
	default:
		in.write(ctx, item)
	}
	if in.err != nil {
		return in.err
	}
	in.count(item)
	for _, sub := range item.Begins {
		in.fork(ctx, sub)
	}
	for _, sub := range item.Ends {
		in.merge(ctx, func(f *openFork) bool { return f.sub == sub })
	}
	return in.err
}

func (in *intake) write(ctx context.Context, item record.Item) {
	if item.Entry.Kind == record.KindAnchor {
		a, err := anchorOf(item)
		if err == nil {
			_, err = in.tx.Handoff(ctx, a)
		}
		in.fail(err)
		return
	}
	d := repo.Draft{Kind: item.Entry.Kind, Payload: item.Entry.Payload, Meta: item.Entry.Meta, Date: item.Entry.Date}
	if line := item.Line; line != nil {
		if (*workspace.Store)(in.store).Redacts(line) {
			// The key is made from the content, which redaction changes: store the key in meta.
			keyed := item.Entry
			keyed.Meta = record.WithKeys(keyed.Meta, in.info.Format, item.Keys)
			line = jsonl.AppendLine(nil, 1, keyed)
		}
		var err error
		d, err = layout.StoredLine(line)
		in.fail(err)
	} else if in.format.Keys == nil { // otherwise keys are made from the content, so it must not change
		var err error
		d, err = in.attach(ctx, d, item.Whole)
		in.fail(err)
	}
	if in.err != nil {
		return
	}
	if item.Fork == "" {
		in.append(ctx, d)
	} else if f := in.fork(ctx, item.Fork); f != nil {
		in.fail(f.fork.Append(ctx, d))
		size := len(d.Payload) + len(d.Meta)
		f.held += size
		in.held += size
	}
	if in.held > in.limit {
		largest := slices.MaxFunc(in.forks, func(a, b *openFork) int { return a.held - b.held })
		in.merge(ctx, func(f *openFork) bool { return f == largest })
	}
}

// append adds an entry of the session itself. A person's request begins a turn, and with it a commit.
func (in *intake) append(ctx context.Context, d repo.Draft) {
	e := repo.Entry{Kind: d.Kind, Payload: d.Payload, Meta: d.Meta, Date: d.Date}
	begins := about.IsPrompt(e) && !e.Hidden()
	if begins && in.commitsCheaply() {
		in.fail(in.tx.Checkpoint(ctx))
		in.grown, in.turn.open = 0, false
	}
	line, err := in.tx.Append(ctx, d)
	if err != nil {
		in.fail(err)
		return
	}
	stored, err := jsonl.Parse(line)
	if err != nil {
		in.fail(err)
		return
	}
	e = repo.Entry{ID: stored.ID, Kind: stored.Kind, Payload: stored.Payload, Meta: stored.Meta, Date: stored.Date}
	if begins {
		in.turn.begin(e)
	}
	in.turn.add(e)
	in.grown += len(line)
}

// commitsCheaply reports whether the next commit is small beside what it has. Each commit of a phase repeats the list
// of its artifacts: with thousands of them, a commit for each turn would grow with the square of the session.
func (in *intake) commitsCheaply() bool {
	const (
		entry = 64 + 20 + 8 // bytes of an artifact in a tree: name, id, mode
		small = 16 << 10
	)
	return in.tx.Artifacts()*entry <= max(small, in.grown)
}

func (in *intake) count(item record.Item) {
	in.res.Imported++
	if item.Entry.Kind == record.KindAnchor {
		in.res.Anchors++
	}
	if item.Fork == "" {
		return
	}
	if name := in.res.Tape + "/" + in.names[item.Fork]; !slices.Contains(in.res.Subagents, name) {
		in.res.Subagents = append(in.res.Subagents, name)
	}
}

// isOpening reports whether an item is the anchor that a tape begins with.
func isOpening(item record.Item) bool {
	return item.Entry.Kind == record.KindAnchor && jsonl.GetString(item.Entry.Payload, "name") == repo.FirstAnchor
}

// create creates the tape, and reports whether the item became its opening anchor.
func (in *intake) create(ctx context.Context, item record.Item) (opens bool) {
	first := repo.Anchor{Name: repo.FirstAnchor, Date: in.info.Started, State: in.openingState()}
	in.turn.opening(first.State)
	if opens = isOpening(item); opens {
		var err error
		if first, err = anchorOf(item); err != nil {
			in.fail(err)
			return false
		}
	}
	origin := writer.TapeStart{First: first, Readme: in.readme(first), Dated: true}
	if in.again != nil {
		var err error
		if in.tx, err = writer.BeginReplacement(ctx, (*workspace.Tape)(in.again.tape), origin); err == nil {
			in.tx.Describe(in.turn.message)
		}
		in.fail(err)
		return opens && err == nil
	}
	before := len(in.have)
	var err error
	in.tx, err = in.bulk.Create(ctx, in.res.Tape, origin)
	switch {
	case errors.Is(err, repo.ErrConflict):
		// Another import has just created the tape. It can be read once its lock is free.
		opens = false
		var tape *workspace.Tape
		if tape, err = (*workspace.Store)(in.store).Tape(ctx, in.res.Tape); err == nil {
			in.begin(ctx, (*repo.Tape)(tape))
		}
	case err == nil && !in.tx.InBulk():
		err = in.loadKeys(ctx, (*repo.Tape)(in.tx.Tape()))
	}
	if err == nil {
		in.tx.Describe(in.turn.message)
	}
	in.fail(err)
	if in.err == nil && len(in.have) > before && !opens {
		in.fail(errRaced)
	}
	return opens && in.err == nil
}

// errRaced ends an import if another import of the same session was faster; the Batch then reads the file again.
var errRaced = errors.New("another import of the same session came first; run it again")

func (in *intake) openingState() json.RawMessage {
	o := record.NewObject(len(in.info.State) + 64)
	if agent := in.info.Agent; agent != "" {
		o.Str("owner", "agent").Str("parent", strings.TrimSuffix(in.res.Tape, "/"+agent))
	} else {
		o.Str("owner", "human")
	}
	o.All(in.info.State)
	if in.forkedFrom != "" {
		o.Str("forked_from", in.forkedFrom)
	}
	return o.Done()
}

func anchorOf(item record.Item) (repo.Anchor, error) {
	if item.Line != nil {
		return layout.StoredAnchor(item.Line)
	}
	return repo.Anchor{Name: jsonl.GetString(item.Entry.Payload, "name"), State: jsonl.Get(item.Entry.Payload, "state"),
		Meta: item.Entry.Meta, Date: item.Entry.Date}, nil
}

// finish adds the items that wait, merges the open forks and commits. If cause or in.err is an error, it rolls everything
// back instead, and returns the error.
func (in *intake) finish(ctx context.Context, cause error) error {
	if cause != nil {
		in.err = cause
	}
	if in.res.Empty = in.err == nil && in.isEmpty(); !in.res.Empty && !in.unfinished {
		in.fail(in.flush(ctx))
	}
	if in.tx == nil {
		return in.err
	}
	in.merge(ctx, func(*openFork) bool { return true })
	if in.err == nil && in.again != nil {
		in.fail(in.again.relabel(ctx, in.tx))
	}
	if in.err == nil {
		in.fail(in.tx.Checkpoint(ctx))
	}
	if in.err != nil {
		return errors.Join(in.err, in.tx.Rollback())
	}
	done, err := in.tx.Commit(ctx)
	in.res.Archived = done.Archived
	return err
}
