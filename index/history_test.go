package index

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tape/internal/store/relevance"
	"tape/internal/testkit"
	"tape/repo"
)

// world makes random changes to a workspace, by this program, by git and by hand, and queries its index from
// time to time.
type world struct {
	t     *testing.T
	rng   *rand.Rand
	s     *repo.Store
	warn  *warnings
	x     *Index
	d     *drafter
	at    time.Time
	names int
	steps []string
}

func newWorld(t *testing.T, rng *rand.Rand) *world {
	w := &world{t: t, rng: rng, warn: &warnings{}, d: &drafter{rng: rng, at: testkit.Clock()}, at: testkit.Clock()}
	o := repo.Options{Warn: w.warn.add, Now: func() time.Time { w.at = w.at.Add(time.Second); return w.at }}
	s, _, err := repo.Init(t.Context(), filepath.Join(t.TempDir(), "ws"), &repo.InitOptions{Options: o})
	if err != nil {
		t.Fatal(err)
	}
	w.s = s
	w.x = New(s, nil)
	t.Cleanup(func() {
		if err := w.x.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) tape() *repo.Tape {
	tapes := everything(w.t, w.s)
	return tapes[w.rng.IntN(len(tapes))]
}

// tree commits everything of a tape, and returns its working tree.
func (w *world) tree(tp *repo.Tape) string {
	w.t.Helper()
	if tp.WorkTree() == "" {
		mustAppend(w.t, tp, w.d.draft())
	}
	if _, _, err := tp.Checkpoint(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	return tp.WorkTree()
}

func (w *world) batch(tp *repo.Tape, n int) {
	w.t.Helper()
	drafts := make([]repo.Draft, n)
	for i := range drafts {
		drafts[i] = w.d.draft()
	}
	if w.rng.IntN(25) == 0 { // an entry that fills a file
		drafts[0] = repo.Message("user", strings.Repeat(w.d.text()+"\n", 6000))
	}
	mustAppend(w.t, tp, drafts...)
}

// step makes one change and returns its name.
func (w *world) step() string {
	t, tp := w.t, w.tape()
	name := tp.Name()
	if w.rng.IntN(5) == 0 {
		return w.fork(tp)
	}
	n := w.rng.IntN(100)
	if tp.IsFork() && (n >= 53 && n < 60 || n >= 71 && n < 81 || n >= 85 && n < 90 || n >= 94) {
		n = 0 // do not remove the commits that make it a fork and name it
	}
	switch {
	case n < 38:
		w.batch(tp, 1+w.rng.IntN(12))
		return "append to " + name
	case n < 48:
		_, err := tp.Handoff(t.Context(), repo.Anchor{Name: fmt.Sprint("phase/", w.rng.IntN(4)), Summary: w.d.text(), Date: repo.FormatDate(w.d.at)})
		if err != nil {
			t.Fatal(err)
		}
		return "handoff in " + name
	case n < 53:
		if _, _, err := tp.Checkpoint(t.Context()); err != nil {
			t.Fatal(err)
		}
		return "checkpoint of " + name
	case n < 57:
		if _, err := tp.Reset(t.Context(), w.rng.IntN(3) > 0); err != nil {
			t.Fatal(err)
		}
		return "reset of " + name
	case n < 60:
		if _, _, err := tp.Restore(t.Context(), repo.Latest); err != nil && !errors.Is(err, repo.ErrNotFound) {
			t.Fatal(err)
		}
		return "restore of " + name
	case n < 64:
		w.names++
		newTape(t, w.s, fmt.Sprintf("%c-%d", 'z'-rune(w.names%20), w.names))
		return "new tape"
	case n < 67 && !tp.IsFork():
		return w.deleteTape(tp)
	case n < 71:
		args := [][]string{{"gc", "--quiet", "--prune=now"}, {"pack-refs", "--all"}, {"repack", "-d", "-q"}}[w.rng.IntN(3)]
		runGit(t, w.s.Dir(), args...)
		return "git " + args[0]
	case n < 76:
		return w.byHand(tp)
	case n < 81:
		return w.rewind(tp)
	case n < 85:
		return w.removeTree(tp)
	case n < 90:
		return w.cutBack(tp)
	case n < 94:
		return w.sameAgain(tp)
	case n < 96:
		return w.amend(tp)
	}
	if err := w.x.Close(); err != nil {
		t.Fatal(err)
	}
	w.x = New(w.s, nil)
	return "another process"
}

func (w *world) deleteTape(tp *repo.Tape) string {
	if tp.Name() == repo.DefaultTape {
		return "nothing"
	}
	if dir := tp.WorkTree(); dir != "" {
		runGit(w.t, w.s.Dir(), "worktree", "remove", "--force", dir)
	}
	runGit(w.t, w.s.Dir(), "branch", "-q", "-D", tp.Branch())
	if w.rng.IntN(2) == 0 {
		newTape(w.t, w.s, tp.Name())
		return "deleted and made again: " + tp.Name()
	}
	return "deleted " + tp.Name()
}

// byHand appends lines like an editor, and may commit them with git.
func (w *world) byHand(tp *repo.Tape) string {
	t := w.t
	dir := w.tree(tp)
	phases, err := tp.Phases(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	last := phases[len(phases)-1]
	if exists(filepath.Join(dir, "anchors", last.Folder, "messages.2.jsonl")) {
		return "nothing by hand"
	}
	f, err := os.OpenFile(filepath.Join(dir, "anchors", last.Folder, "messages.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1 + w.rng.IntN(3) {
		content, _ := json.Marshal(w.d.text())
		date := []string{"2026-11-21", "yesterday"}[w.rng.IntN(2)]
		fmt.Fprintf(f, `{"date":"`+date+`","kind":"message", "id":%d,"payload":{"content":%s,"role":"user"}}`+"\n", last.LastID+1+int64(i), content)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if w.rng.IntN(2) == 0 {
		return "lines by hand in " + tp.Name()
	}
	runGit(t, dir, "add", "anchors")
	runGit(t, dir, "commit", "-q", "-m", "by hand")
	return "lines and commit by hand in " + tp.Name()
}

// rewind resets the branch to before the newest commit, with git.
func (w *world) rewind(tp *repo.Tape) string {
	if tp.WorkTree() == "" {
		if exec.Command("git", "-C", w.s.Dir(), "rev-parse", "--verify", "-q", tp.Branch()+"~1").Run() != nil {
			return "nothing to rewind"
		}
		runGit(w.t, w.s.Dir(), "update-ref", "refs/heads/"+tp.Branch(), tp.Branch()+"~1")
		return "rewound without a working tree: " + tp.Name()
	}
	dir := w.tree(tp)
	if exec.Command("git", "-C", dir, "rev-parse", "--verify", "-q", "HEAD~1").Run() != nil {
		return "nothing to rewind"
	}
	runGit(w.t, dir, "reset", "-q", "--hard", "HEAD~1")
	runGit(w.t, dir, "clean", "-q", "-f", "-d", "anchors")
	return "git reset --hard in " + tp.Name()
}

// amend replaces the newest commit by one with other words.
func (w *world) amend(tp *repo.Tape) string {
	dir := w.tree(tp)
	runGit(w.t, dir, "commit", "-q", "--amend", "--allow-empty", "-m", fmt.Sprint("amended ", w.rng.IntN(1000)))
	return "amended " + tp.Name()
}

func (w *world) removeTree(tp *repo.Tape) string {
	if tp.Name() == repo.DefaultTape || tp.WorkTree() == "" {
		return "nothing to remove"
	}
	runGit(w.t, w.s.Dir(), "worktree", "remove", "--force", w.tree(tp))
	return "no working tree any more: " + tp.Name()
}

// cutBack removes uncommitted entries that the index has read, and appends others.
func (w *world) cutBack(tp *repo.Tape) string {
	dir := w.tree(tp)
	w.batch(tp, 1+w.rng.IntN(4))
	w.update()
	runGit(w.t, dir, "restore", "--", "anchors")
	runGit(w.t, dir, "clean", "-q", "-f", "-d", "anchors")
	if _, err := collect(w.t.Context(), tp, repo.Query{}); err != nil {
		// The tape's journal says that entries are lost. A commit by git does not change that, but a repair does.
		if _, syncErr := w.x.Sync(w.t.Context()); !errors.Is(syncErr, repo.ErrCorrupt) {
			w.t.Errorf("reading the tape: %v; syncing the index: got %v, want ErrCorrupt", err, syncErr)
		}
		runGit(w.t, dir, "commit", "-q", "--allow-empty", "-m", "not settled")
		if _, err := collect(w.t.Context(), tp, repo.Query{}); !errors.Is(err, repo.ErrCorrupt) {
			w.t.Errorf("reading the tape after a commit: got %v, want ErrCorrupt", err)
		}
		if _, err := w.s.Repair(w.t.Context()); err != nil {
			w.t.Error(err)
		}
	}
	w.batch(tp, 1+w.rng.IntN(4))
	return "cut back: " + tp.Name()
}

// sameAgain undoes a commit that the index has read, and writes entries of the same lengths and dates.
func (w *world) sameAgain(tp *repo.Tape) string {
	dir := w.tree(tp)
	date := repo.FormatDate(testkit.Clock())
	draft := func(word string) repo.Draft {
		d := repo.Message("user", word+strings.Repeat(" padding", w.rng.IntN(2)))
		d.Date = date
		return d
	}
	mustAppend(w.t, tp, draft("before"), draft("earlier"))
	w.tree(tp)
	w.update()
	runGit(w.t, dir, "reset", "-q", "--hard", "HEAD~1")
	runGit(w.t, dir, "clean", "-q", "-f", "-d", "anchors")
	mustAppend(w.t, tp, draft("behind"), draft("another"))
	return "the same again: " + tp.Name()
}

// update brings the index up to date, in one of several ways.
func (w *world) update() {
	tapes := everything(w.t, w.s)
	switch w.rng.IntN(4) {
	case 0, 1:
		mustSync(w.t, w.x)
		return
	case 2:
		mustSearch(w.t, w.x, Search{Text: "error"})
		return
	}
	mustSearch(w.t, w.x, Search{Text: "error", Tapes: named(tapes[w.rng.IntN(len(tapes))])})
}

// compare fails unless the index contains and answers the same as a new one.
func (w *world) compare(searches int) {
	t := w.t
	t.Helper()
	mustSync(t, w.x)
	path := w.s.IndexFile()
	tapes := everything(t, w.s)
	fresh := rebuilt(t, w.s)
	wantEqual(t, "after a sync", path, fresh)
	wantSound(t, path)
	var all []repo.Entry
	for _, tp := range tapes {
		entries, err := collect(t.Context(), tp, repo.Query{})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, entries...)
	}
	// The tapes in another new index have other numbers, which must not matter.
	reversed := slices.Clone(tapes)
	slices.Reverse(reversed)
	other := onCopy(t, w.s, rebuiltOf(t, w.s, reversed))
	for range searches {
		s := search(w.rng, tapes, all)
		wantAnswer(t, w.x, s)
		got, err := w.x.Search(t.Context(), s)
		want, wantErr := other.Search(t.Context(), s)
		if (err != nil) != (wantErr != nil) {
			t.Errorf("%s: got the error %v, a new index gives %v", describe(s), err, wantErr)
		} else if err == nil {
			wantSame(t, describe(s), got, want)
		}
		if err == nil && len(s.Tapes) == len(tapes) {
			s.Tapes = nil
			wantSame(t, "all: "+describe(s), mustSearch(t, w.x, s), want)
		}
		wantAnswer(t, w.x, scanSearch(w.rng, tapes, all))
		if t.Failed() {
			return
		}
	}
	for _, m := range w.warn.take() {
		if strings.Contains(m, "index") {
			t.Errorf("got the warning %q, want none about the index", m)
		}
	}
}

// TestSoakHistories lets an index follow random histories. It always contains and answers the same as a new
// index, and the answers are the same as from reading every entry.
func TestSoakHistories(t *testing.T) {
	t.Parallel()
	rng := testkit.Random(t)
	for range testkit.Size(1, 60) {
		followHistory(t, rng, testkit.Size(20, 250), testkit.Size(15, 120))
	}
}

// TestHistoryThatFailed runs histories that once failed: a search overwrote the cached content of a file; the
// index met a merge by git; and with many forks, the test confused entry 26 of main/f1 with entry 6 of main/f12.
func TestHistoryThatFailed(t *testing.T) {
	t.Parallel()
	followHistory(t, rand.New(rand.NewPCG(1795343740803660774, 0)), 40, 25)
	if testkit.Soak() {
		followHistory(t, rand.New(rand.NewPCG(0x831fe14ec5c440a7, 0x0ec4d58da1dce5f9)), 250, 120)
	}
}

func followHistory(t *testing.T, rng *rand.Rand, steps, searches int) {
	w := newWorld(t, rng)
	for i := range steps {
		w.steps = append(w.steps, w.step())
		if rng.IntN(3) == 0 {
			w.update()
		}
		if i%20 == 19 {
			w.compare(searches)
		}
		if t.Failed() {
			t.Fatalf("after %s", strings.Join(w.steps, "; "))
		}
	}
	w.withoutIndex()
	if t.Failed() {
		t.Fatalf("after %s", strings.Join(w.steps, "; "))
	}
}

// TestMergeByGit: a sync, a rebuild or a search may be the first to meet a merge that git made.
func TestMergeByGit(t *testing.T) {
	t.Parallel()
	first := map[string]func(*Index, *repo.Tape) error{
		"sync":    func(x *Index, _ *repo.Tape) error { _, err := x.Sync(t.Context()); return err },
		"rebuild": func(x *Index, _ *repo.Tape) error { _, err := x.Rebuild(t.Context()); return err },
		"words": func(x *Index, tp *repo.Tape) error {
			_, err := x.Search(t.Context(), Search{Text: "redis", Tapes: named(tp)})
			return err
		},
		"substring": func(x *Index, tp *repo.Tape) error {
			_, err := x.Search(t.Context(), Search{Text: "redis", How: Substring, Tapes: named(tp)})
			return err
		},
	}
	for name, call := range first {
		t.Run(name, func(t *testing.T) {
			s := testStore(t)
			tp := openTape(t, s, "")
			mustAppend(t, tp, repo.Message("user", "before the fork"))
			f, err := tp.Fork(t.Context(), "f")
			if err != nil {
				t.Fatal(err)
			}
			mustAppend(t, f, repo.Message("user", "about redis"))
			if _, _, err := f.Checkpoint(t.Context()); err != nil {
				t.Fatal(err)
			}
			runGit(t, tp.WorkTree(), "merge", "-q", "--no-ff", "-m", "by git", f.Branch())
			x := testIndex(t, s)
			if err := call(x, tp); err != nil {
				t.Fatal(err)
			}
			wantAnswer(t, x, Search{Text: "redis", Tapes: named(tp)})
		})
	}
}

// withoutIndex deletes the index, which must not change answers.
func (w *world) withoutIndex() {
	t := w.t
	tapes := everything(t, w.s)
	var all []repo.Entry
	for _, tp := range tapes {
		entries, err := collect(t.Context(), tp, repo.Query{})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, entries...)
	}
	var asked []Search
	var answers []*Result
	for range 20 {
		s := search(w.rng, tapes, all)
		if res, err := w.x.Search(t.Context(), s); err == nil {
			asked, answers = append(asked, s), append(answers, res)
		}
	}
	if err := os.Remove(w.s.IndexFile()); err != nil {
		t.Fatal(err)
	}
	for i, s := range asked {
		wantSame(t, "without index.db: "+describe(s), mustSearch(t, testIndex(t, w.s), s), answers[i])
	}
	wantNoScratch(t, w.s)
}

// common makes n drafts that have the same words in addition.
func (d *drafter) common(n int) []repo.Draft {
	drafts := make([]repo.Draft, n)
	for i := range drafts {
		drafts[i] = d.draft()
		drafts[i].Payload = slices.Concat(drafts[i].Payload[:len(drafts[i].Payload)-1], []byte(`,"more":"common words"}`))
	}
	return drafts
}

// TestManyMatches searches for a word that very many entries contain. With a limit, only some are judged;
// without one, all are returned. The answer does not depend on how the index grew.
func TestManyMatches(t *testing.T) {
	t.Parallel()
	rng := testkit.Random(t)
	s := testStore(t)
	d := &drafter{rng: rng, at: testkit.Clock()}
	tp := openTape(t, s, "")
	x := testIndex(t, s)
	for i := range testkit.Size(6, 24) {
		mustAppend(t, tp, d.common(80)...)
		if i%3 == 0 {
			mustHandoff(t, tp, fmt.Sprint("phase/", i%4))
		}
		mustSync(t, x)
	}
	other := onCopy(t, s, rebuilt(t, s))
	for _, text := range []string{"common", "common words", `"common words"`, "comm*", "common OR redis", "common -redis", ""} {
		for _, limit := range []*int{nil, repo.N(0), repo.N(1), repo.N(20), repo.N(300)} {
			for _, fold := range []bool{false, true} {
				if !testkit.Soak() && rng.IntN(3) > 0 {
					continue
				}
				q := Search{Text: text, Tapes: named(tp), Query: repo.Query{Limit: limit}, NoFold: !fold, Newest: rng.IntN(3) == 0}
				wantAnswer(t, x, q)
				wantSame(t, describe(q), mustSearch(t, x, q), mustSearch(t, other, q))
			}
		}
	}
	if n := mustSearch(t, x, Search{Text: "common", Tapes: named(tp), Count: true}).Matches; n <= relevance.Candidates {
		t.Errorf("only %d entries have the word, want more than %d: the test shows nothing", n, relevance.Candidates)
	}
}
