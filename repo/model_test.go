package repo_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"tape/internal/store/workspace"
	"tape/internal/store/writer"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/internal/text/jsonl"
	"tape/repo"
	"testing"
	"time"
)

// model is what a tape should contain, in plain slices.
type model struct {
	entries   []modelEntry
	committed int // entries that a commit has
	archives  []model
	policy    workspace.CommitPolicy
}

type modelEntry struct {
	kind, text string // text: an anchor's name, or what the payload says
	phase      int
}

func newModel() model {
	return model{entries: []modelEntry{{repo.KindAnchor, repo.FirstAnchor, 1}}, committed: 1}
}

func (m *model) phase() int { return m.entries[len(m.entries)-1].phase }

// batch applies the commit policy to several entries at once: the turn before the first user message
// is committed, and the policy Every counts at the end.
func (m *model) batch(drafts []repo.Draft, texts []string) {
	policy, turned := m.policy, false
	m.policy = workspace.CommitPolicy{}
	for i, d := range drafts {
		if policy.Turn && !turned && writer.IsUserMessage(d) {
			m.committed, turned = len(m.entries), true
		}
		m.append(d, texts[i])
	}
	m.policy = policy
	if policy.Every > 0 && len(drafts) > 0 && len(m.entries)-m.committed >= policy.Every {
		m.committed = len(m.entries)
	}
}

// append applies the commit policy to a single entry.
func (m *model) append(d repo.Draft, text string) {
	if m.policy.Turn && writer.IsUserMessage(d) {
		m.committed = len(m.entries)
	}
	m.entries = append(m.entries, modelEntry{d.Kind, text, m.phase()})
	if m.policy.Every > 0 && len(m.entries)-m.committed >= m.policy.Every {
		m.committed = len(m.entries)
	}
}

func (m *model) handoff(name string) {
	m.entries = append(m.entries, modelEntry{repo.KindAnchor, name, m.phase() + 1})
	m.committed = len(m.entries)
}

func (m *model) compare(t *testing.T, tp *repo.Tape) {
	t.Helper()
	got := storetest.Entries(t, tp, repo.Query{})
	if len(got) != len(m.entries) {
		t.Fatalf("%d entries, want %d", len(got), len(m.entries))
	}
	for i, want := range m.entries {
		e := got[i]
		text := jsonl.GetString(e.Payload, "content")
		if e.Kind != repo.KindMessage {
			text = jsonl.GetString(e.Payload, "name")
		}
		if e.ID != int64(i+1) || e.Kind != want.kind || text != want.text || e.AnchorSeq != want.phase {
			t.Fatalf("entry %d is %s, want %v", i+1, e.Raw, want)
		}
	}
	info, err := tp.Info(t.Context())
	storetest.Must(t, err)
	if info.Entries != int64(len(m.entries)) || info.Anchors != m.phase() || info.Uncommitted != int64(len(m.entries)-m.committed) {
		t.Fatalf("info says %d entries, %d anchors, %d uncommitted; want %d, %d, %d", info.Entries, info.Anchors, info.Uncommitted,
			len(m.entries), m.phase(), len(m.entries)-m.committed)
	}
	archives, err := tp.Archives(t.Context())
	storetest.Must(t, err)
	var have, want []string
	for _, a := range archives {
		have = append(have, fmt.Sprint(a.Entries, "/", a.Anchors))
	}
	for _, a := range m.archives {
		want = append(want, fmt.Sprint(len(a.entries), "/", a.phase()))
	}
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		t.Fatalf("archives %v, want %v", have, want)
	}
}

// simulation makes random changes to a tape and to its model.
type simulation struct {
	t     *testing.T
	rng   *rand.Rand
	s     *repo.Store
	tp    *repo.Tape
	m     model
	n     int
	steps []string
	at    time.Time
}

func (x *simulation) draft() (repo.Draft, string) {
	x.n++
	text := fmt.Sprint("entry ", x.n)
	pad := ""
	if x.rng.IntN(12) == 0 {
		pad = strings.Repeat("p", x.rng.IntN(120_000))
	}
	switch x.rng.IntN(4) {
	case 0:
		return repo.Draft{Kind: repo.KindEvent, Payload: []byte(fmt.Sprintf(`{"name":%q,"pad":%q}`, text, pad))}, text
	case 1:
		return repo.Draft{Kind: repo.KindToolCall, Payload: []byte(fmt.Sprintf(`{"calls":[],"name":%q,"pad":%q}`, text, pad))}, text
	case 2:
		return repo.Message("assistant", text), text
	}
	return repo.Message("user", text), text
}

func (x *simulation) reopen() {
	var err error
	x.s, err = repo.Open(x.t.Context(), x.s.Dir(), &repo.Options{Now: func() time.Time { x.at = x.at.Add(time.Second); return x.at }})
	if err != nil {
		x.t.Fatal(err)
	}
	x.tp = storetest.Tape(x.t, x.s, "main")
}

// step makes one change and returns its name.
func (x *simulation) step() (string, error) {
	ctx := x.t.Context()
	switch n := x.rng.IntN(100); {
	case n < 40:
		d, text := x.draft()
		if x.rng.IntN(5) == 0 {
			a, err := x.tp.AddArtifact(ctx, repo.Artifact{}, strings.NewReader(fmt.Sprint("content ", x.rng.IntN(8))))
			if err != nil {
				return "artifact", err
			}
			d = repo.Draft{Kind: repo.KindMessage, Payload: fmt.Appendf(nil, `{"role":"user","content":%q,"artifact":%s}`, text, a.Reference())}
		}
		x.m.append(d, text)
		_, err := x.tp.Append(ctx, nil, d)
		return "append", err
	case n < 55:
		var drafts []repo.Draft
		var texts []string
		for range x.rng.IntN(12) {
			d, text := x.draft()
			drafts, texts = append(drafts, d), append(texts, text)
		}
		x.m.batch(drafts, texts)
		_, err := x.tp.Append(ctx, nil, drafts...)
		return fmt.Sprint("batch of ", len(drafts)), err
	case n < 68:
		name := fmt.Sprintf("phase/%d", x.rng.IntN(5))
		x.m.handoff(name)
		h, err := x.tp.Handoff(ctx, repo.Anchor{Name: name})
		if err == nil && (h.Entry != int64(len(x.m.entries)) || h.Seq != x.m.phase()) {
			err = fmt.Errorf("the handoff says %+v", h)
		}
		return "handoff", err
	case n < 74:
		_, count, err := x.tp.Checkpoint(ctx)
		if want := len(x.m.entries) - x.m.committed; err == nil && count != int64(want) {
			err = fmt.Errorf("the checkpoint had %d entries, want %d", count, want)
		}
		x.m.committed = len(x.m.entries)
		return "checkpoint", err
	case n < 79:
		x.reopen()
		return "reopen", nil
	case n < 83:
		storetest.Git(x.t, x.s.Dir(), [][]string{{"gc", "--quiet", "--prune=now"}, {"pack-refs", "--all"}, {"repack", "-d", "-q"}, {"status"}}[x.rng.IntN(4)]...)
		return "git", nil
	case n < 87:
		archive := x.rng.IntN(2) == 0
		_, err := x.tp.Reset(ctx, archive)
		if old := x.m; archive {
			old.archives = nil
			x.m.archives = append(slices.Clone(x.m.archives), old)
		}
		fresh := newModel()
		x.m.entries, x.m.committed = fresh.entries, fresh.committed
		return fmt.Sprint("reset, archive=", archive), err
	case n < 90:
		_, _, err := x.tp.Restore(ctx, repo.Latest)
		if len(x.m.archives) == 0 {
			if !errors.Is(err, repo.ErrNotFound) {
				return "restore", fmt.Errorf("want ErrNotFound without an archive: %w", err)
			}
			return "restore of nothing", nil
		}
		last := x.m.archives[len(x.m.archives)-1]
		rest := slices.Clone(x.m.archives[:len(x.m.archives)-1])
		if len(x.m.entries) > 1 {
			rest = append(rest, model{entries: x.m.entries})
		}
		x.m.entries, x.m.committed, x.m.archives = last.entries, len(last.entries), rest
		return "restore", err
	case n < 94:
		x.m.policy = []workspace.CommitPolicy{{}, {Turn: true}, {Every: 1 + x.rng.IntN(4)}}[x.rng.IntN(3)]
		return "policy " + x.m.policy.String(), x.s.SetSetting("commit", x.m.policy.String())
	default:
		// A transaction that is given up.
		stop := errors.New("stop")
		_, err := x.tp.Update(ctx, func(tx *repo.Tx) error {
			for range x.rng.IntN(5) {
				d, _ := x.draft()
				if _, err := tx.AppendEntry(ctx, d); err != nil {
					return err
				}
			}
			if x.rng.IntN(2) == 0 {
				if _, err := tx.Handoff(ctx, repo.Anchor{Name: "never"}); err != nil {
					return err
				}
			}
			return stop
		})
		if !errors.Is(err, stop) {
			return "give up", fmt.Errorf("want the error of the function: %w", err)
		}
		return "give up", nil
	}
}

// TestSoakModel compares random histories with a model of plain slices, step by step.
func TestSoakModel(t *testing.T) {
	t.Parallel()
	rng := testkit.Random(t)
	for range testkit.Size(1, 60) {
		x := &simulation{t: t, rng: rng, m: newModel(), at: testkit.Clock(), s: storetest.New(t, &repo.InitOptions{Options: repo.Options{Now: testkit.Clock}})}
		x.reopen()
		for range testkit.Size(120, 400) {
			what, err := x.step()
			x.steps = append(x.steps, what)
			if err != nil {
				t.Fatalf("step %d, %s: %v\nbefore it: %v", len(x.steps), what, err, x.steps)
			}
			// Compare with the handle that made the change, and sometimes with a new one.
			x.m.compare(t, x.tp)
			if rng.IntN(10) == 0 {
				x.m.compare(t, storetest.Tape(t, storetest.Reopen(t, x.s.Dir()), "main"))
			}
			if t.Failed() {
				t.Fatalf("after %v", x.steps)
			}
		}
		storetest.Healthy(t, x.s.Dir())
		storetest.WantTags(t, x.tp)
	}
}
