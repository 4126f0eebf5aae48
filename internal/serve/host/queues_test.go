package host

//tape:race: clients write at once

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"tape/internal/serve/host/api"
	storetest "tape/internal/testkit/store"
	"tape/repo"
)

func status(err error) int {
	var p *api.Problem
	if errors.As(err, &p) {
		return p.Status
	}
	return 0
}

// job returns a request with a key that appends some messages.
func job(t *testing.T, key string, texts ...string) *writeJob {
	t.Helper()
	j := &writeJob{Key: keyOf("r", key), Request: requestHash([]byte(strings.Join(texts, "\n")))}
	for _, text := range texts {
		d := repo.Message("user", text)
		meta, err := stampMeta(nil, "r", "", key, j.Request, nil)
		storetest.Must(t, err)
		d.Meta = meta
		j.Drafts = append(j.Drafts, d)
	}
	return j
}

// All that many clients write at once is stored, each request's entries together, and an
// entry that cannot be written affects no other request.
func TestWritesTogether(t *testing.T) {
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "main")
	queues := &tapeQueues{}
	var wg sync.WaitGroup
	jobs := make([]*writeJob, 40)
	for i := range jobs {
		jobs[i] = job(t, "", fmt.Sprint(i, " a"), fmt.Sprint(i, " b"))
		if i%10 == 9 {
			jobs[i].Ready = func(*tapeQueue) error { return api.Conflict("not now") }
		}
		wg.Go(func() {
			if err := queues.Append(t.Context(), tp, jobs[i]); (status(err) == http.StatusConflict) != (i%10 == 9) {
				t.Errorf("request %d: %v; want a conflict for each tenth request, else no error", i, err)
			}
		})
	}
	wg.Wait()
	entries := storetest.Entries(t, tp, repo.Query{})
	if len(entries) != 1+2*36 {
		t.Errorf("the tape has %d entries, want %d", len(entries), 1+2*36)
	}
	for i, j := range jobs {
		if i%10 == 9 {
			continue
		}
		if j.Out.Last != j.Out.First+1 || !strings.Contains(string(entries[j.Out.First-1].Payload), fmt.Sprintf(`"%d a"`, i)) ||
			!strings.Contains(string(entries[j.Out.Last-1].Payload), fmt.Sprintf(`"%d b"`, i)) {
			t.Errorf("request %d was answered with @%d to @%d, which are not its entries", i, j.Out.First, j.Out.Last)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // the client has gone
	storetest.Must(t, queues.Append(ctx, tp, job(t, "", "all the same")))
	if err := queues.Append(t.Context(), tp, &writeJob{Drafts: []repo.Draft{{Kind: "no payload", Payload: []byte("{")}}}); !errors.Is(err, repo.ErrInvalid) {
		t.Errorf("an invalid entry: %v, want ErrInvalid", err)
	}
	storetest.Must(t, queues.Append(t.Context(), tp, &writeJob{}))
}

// A request with a key is carried out once, however often and to whichever server it is sent. The same key
// with another request is refused.
func TestKeys(t *testing.T) {
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "main")
	queues := &tapeQueues{}
	var wg sync.WaitGroup
	outs := make([]*writeJob, 6)
	for i := range outs {
		outs[i] = job(t, "k", "one", "two")
		wg.Go(func() { storetest.Must(t, queues.Append(t.Context(), tp, outs[i])) })
	}
	wg.Wait()
	fresh := 0
	for _, j := range outs {
		if !j.Again {
			fresh++
		}
		if j.Out.First != outs[0].Out.First || j.Out.Last != outs[0].Out.Last {
			t.Errorf("one answer is @%d to @%d, another @%d to @%d",
				j.Out.First, j.Out.Last, outs[0].Out.First, outs[0].Out.Last)
		}
	}
	if n := len(storetest.Entries(t, tp, repo.Query{})); fresh != 1 || n != 3 {
		t.Errorf("%d requests counted as new, want 1; the tape has %d entries, want 3", fresh, n)
	}
	storetest.Append(t, tp, repo.Message("user", "of somebody else"))
	again := job(t, "k", "one", "two")
	if err := (&tapeQueues{}).Append(t.Context(), tp, again); err != nil || !again.Again || again.Out != outs[0].Out {
		t.Errorf("another server answers the repeated request with %+v, %v; want %+v", again.Out, err, outs[0].Out)
	}
	if got := status(queues.Append(t.Context(), tp, job(t, "k", "another"))); got != http.StatusConflict {
		t.Errorf("another request with the same key: status %d, want 409", got)
	}
	// After a reset of the tape, its keys are forgotten.
	_, err := tp.Reset(t.Context(), true)
	storetest.Must(t, err)
	if j := job(t, "k", "one", "two"); queues.Append(t.Context(), tp, j) != nil || j.Again || j.Out.First != 2 {
		t.Errorf("after a reset, the request should be new and write @2: %+v", j)
	}
}

// setting returns an entry that sets a key of a state, or deletes it if value is "".
func setting(scope, owner, key, value string) repo.Draft {
	p := statePayload{Scope: scope, Owner: owner, Key: key, Value: json.RawMessage(value), Deleted: value == ""}
	if p.Deleted {
		p.Value = json.RawMessage("null")
	}
	raw, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	return repo.Draft{Kind: kindState, Payload: raw}
}

// stateOn returns the state of one owner, as "key=value " for each key.
func stateOn(t *testing.T, queues *tapeQueues, tp *repo.Tape, owner stateKey) (out string) {
	t.Helper()
	storetest.Must(t, queues.Hold(t.Context(), tp, func(l *tapeQueue) error {
		rev, err := tp.Store().Revision(t.Context(), tp, "")
		storetest.Must(t, err)
		all := l.State(owner)
		for _, key := range slices.Sorted(maps.Keys(all)) {
			k := owner
			k.Key = key
			e, err := tapeEntryAt(t.Context(), rev, all[key].Seq)
			storetest.Must(t, err)
			value, err := valueOf(e, k)
			storetest.Must(t, err)
			out += fmt.Sprintf("%s=%s ", key, value)
		}
		return nil
	}))
	return out
}

// The newest value of a key counts, whoever wrote it, and no owner can store more than the limit.
func TestQueueState(t *testing.T) {
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "main")
	queues := &tapeQueues{}
	set := func(drafts ...repo.Draft) error { return queues.Append(t.Context(), tp, &writeJob{Drafts: drafts}) }
	storetest.Must(t, set(setting("actor", "ann", "a", "1"), setting("actor", "bob", "a", "2"), setting(scopeConversation, "", "gone", "3")))
	storetest.Must(t, set(setting("actor", "ann", "a", "1.50"), setting(scopeConversation, "", "gone", "")))
	storetest.Append(t, tp, setting("actor", "bob", "b", `"by hand"`))
	for _, l := range []*tapeQueues{queues, {}} {
		for owner, want := range map[stateKey]string{{Scope: "actor", Owner: "ann"}: "a=1.50 ", {Scope: "actor", Owner: "bob"}: `a=2 b="by hand" `, {Scope: scopeConversation}: ""} {
			if got := stateOn(t, l, tp, owner); got != want {
				t.Errorf("the state of %+v is %s, want %s", owner, got, want)
			}
		}
	}
	big := `"` + strings.Repeat("x", maxStateBytes/2) + `"`
	if got := status(set(setting("actor", "eve", "one", big), setting("actor", "eve", "two", big))); got != http.StatusRequestEntityTooLarge {
		t.Errorf("two values at once: status %d, want 413", got)
	}
	storetest.Must(t, set(setting("actor", "eve", "one", big)))
	for name, d := range map[string]repo.Draft{
		"a second one":    setting("actor", "eve", "two", big),
		"a replacement":   setting("actor", "eve", "one", big+strings.Repeat(" ", 10)),
		"somebody else's": setting("actor", "bob", "c", big),
	} {
		if got := status(set(d)); (got == http.StatusRequestEntityTooLarge) != (name == "a second one") {
			t.Errorf("%s: status %d; only a second value should be too large", name, got)
		}
	}
}

// An owner has a limited number of keys, because the server keeps them in memory.
func TestTooManyKeysOfState(t *testing.T) {
	tp := storetest.Tape(t, storetest.New(t, nil), "main")
	queues := &tapeQueues{}
	var drafts []repo.Draft
	for i := range maxKeys + 1 {
		drafts = append(drafts, setting("actor", "ann", fmt.Sprint(i), "1"))
	}
	if got := status(queues.Append(t.Context(), tp, &writeJob{Drafts: drafts})); got != http.StatusRequestEntityTooLarge {
		t.Errorf("too many keys at once: status %d, want 413", got)
	}
	storetest.Must(t, queues.Append(t.Context(), tp, &writeJob{Drafts: drafts[:maxKeys-1]}))
	ann := func(key, value string) repo.Draft { return setting("actor", "ann", key, value) }
	together := []*writeJob{ // there is room for one key
		{Drafts: []repo.Draft{ann("a", "1"), ann("b", "1")}},
		{Drafts: []repo.Draft{ann("c", "1"), ann("c", "2")}},
		{Drafts: []repo.Draft{ann("d", "1")}},
		{Drafts: []repo.Draft{ann("1", ""), ann("e", "1")}},
	}
	l := queues.enter(tp)
	storetest.Must(t, l.write(t.Context(), tp, together))
	queues.leave(l)
	for i, j := range together {
		if got := status(j.err); (got == http.StatusRequestEntityTooLarge) != (i%2 == 0) {
			t.Errorf("job %d of those written together: status %d; want 413 for the first and the third, which have no room", i, got)
		}
	}
	set := func(d repo.Draft) int {
		return status(queues.Append(t.Context(), tp, &writeJob{Drafts: []repo.Draft{d}}))
	}
	if got := set(setting("actor", "ann", "more", "1")); got != http.StatusRequestEntityTooLarge {
		t.Errorf("one more key: status %d, want 413", got)
	}
	for _, d := range []repo.Draft{setting("actor", "ann", "0", "2"), setting("actor", "bob", "0", "2"), setting("actor", "ann", "0", ""), setting("actor", "ann", "more", "1")} {
		if got := set(d); got != 0 {
			t.Errorf("%s: status %d, want no error", d.Payload, got)
		}
	}
	// A repetition writes nothing, so it needs no room.
	keyed := func() *writeJob {
		d := setting("actor", "ann", "keyed", "1")
		var err error
		d.Meta, err = stampMeta(d.Meta, "r", "", "k", "request", nil)
		storetest.Must(t, err)
		return &writeJob{Key: keyOf("r", "k"), Request: "request", Drafts: []repo.Draft{d}}
	}
	set(ann("more", ""))
	storetest.Must(t, queues.Append(t.Context(), tp, keyed()))
	set(ann("keyed", ""))
	set(ann("more", "1"))
	if j := keyed(); queues.Append(t.Context(), tp, j) != nil || !j.Again {
		t.Errorf("a request that was carried out is refused when it is repeated: %+v", j)
	}
}

// Queues of many tapes use no more memory than the limit, whatever the tapes contain. What was dropped is read
// again when it is needed.
func TestIdleLanesAreDropped(t *testing.T) {
	s := storetest.New(t, nil)
	queues := &tapeQueues{}
	first := storetest.Tape(t, s, "main")
	storetest.Must(t, queues.Append(t.Context(), first, job(t, "k", "one")))
	storetest.Must(t, queues.Append(t.Context(), first, &writeJob{Drafts: []repo.Draft{setting("actor", "ann", "a", "1")}}))
	for i := range 3 {
		tp, err := s.CreateTape(t.Context(), fmt.Sprint("t", i))
		storetest.Must(t, err)
		storetest.Must(t, queues.Hold(t.Context(), tp, func(l *tapeQueue) error {
			for n := range maxMemory / 1_500 { // about as much as all queues may use
				l.facts.forks[fmt.Sprint(n)] = forkFact{}
			}
			return nil
		}))
	}
	if n := len(queues.byBranch); n > 1 || queues.total > maxMemory {
		t.Errorf("there are %d queues with %d bytes, want 1 with at most %d", n, queues.total, maxMemory)
	}
	if got := stateOn(t, queues, first, stateKey{Scope: "actor", Owner: "ann"}); got != "a=1 " {
		t.Errorf("the state is %q, want a=1", got)
	}
	if j := job(t, "k", "one"); queues.Append(t.Context(), first, j) != nil || !j.Again {
		t.Errorf("the request is carried out again: %+v", j)
	}
}

// Which thread something belongs to follows from what the server wrote, not from what runs claim.
func TestFacts(t *testing.T) {
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "main")
	a := storetest.AddArtifact(t, tp, "a.txt", "the content")
	stamped := func(d repo.Draft, run, thread string) repo.Draft {
		meta, err := stampMeta(d.Meta, run, thread, "", "", nil)
		storetest.Must(t, err)
		d.Meta = meta
		return d
	}
	named := storetest.ReferTo("look", a)
	named.Payload = []byte(strings.Replace(string(named.Payload), `"user"`, `"assistant"`, 1))
	fork, err := forkDraft("x", "abc")
	storetest.Must(t, err)
	handoff, err := handoffDraft(&api.HandoffRequest{Name: "plan", Summary: "so far", State: json.RawMessage(`{"n":1}`)})
	storetest.Must(t, err)
	storetest.Append(t, tp, stamped(named, "r", "t"), stamped(fork, "", "t"), stamped(handoff, "", "t"))
	queues := &tapeQueues{}
	withLane := func(f func(l *tapeQueue)) {
		t.Helper()
		storetest.Must(t, queues.Hold(t.Context(), tp, func(l *tapeQueue) error { f(l); return nil }))
	}
	withLane(func(l *tapeQueue) {
		if k, ok := l.Artifact(a.SHA256, "t"); ok {
			t.Errorf("a run's mention of an artifact counts: %+v", k)
		}
		if f, ok := l.Fork("x"); !ok || f != (forkFact{Thread: "t", Start: "abc"}) {
			t.Errorf("the fork is %+v, %v; want thread t, start abc", f, ok)
		}
		if got := l.Handoffs("t"); len(got) != 1 || got[0] != 4 || len(l.Handoffs("")) > 0 {
			t.Errorf("the handoffs of thread t are %v, want [4], and none without a thread", got)
		}
	})
	storetest.Append(t, tp, stamped(storetest.ReferTo("mine", a), "r", "t"))
	withLane(func(l *tapeQueue) {
		if _, ok := l.Artifact(a.SHA256, "other"); ok {
			t.Error("the artifact of thread t also belongs to another thread")
		}
		if k, ok := l.Artifact(a.SHA256, ""); !ok || k.Name != a.Name {
			t.Errorf("the input's artifact is %+v, %v; want the name %s", k, ok, a.Name)
		}
	})
	e, err := asAnchor(storetest.Entries(t, tp, repo.Query{})[3])
	if err != nil || e.Kind != repo.KindAnchor || string(e.Payload) != `{"name":"plan","state":{"n":1,"summary":"so far"}}` {
		t.Errorf("as an anchor: %s, %v", e.Payload, err)
	}
	for _, q := range []api.HandoffRequest{{Name: " "}, {Name: "x", State: json.RawMessage(`[1]`)}} {
		if _, err := handoffDraft(&q); status(err) != http.StatusUnprocessableEntity {
			t.Errorf("%+v: %v, want status 422", q, err)
		}
	}
}

// The server's members of meta replace the client's.
func TestStamp(t *testing.T) {
	meta := json.RawMessage(`{"run_id":"forged","sequence":7,"thread_id":"forged","idempotency_key":"k","request_sha256":"x","expires_at":"x","own":1.50}`)
	for _, c := range []struct{ run, thread, key, want string }{
		{"r", "t", "", `{"own":1.50,"run_id":"r","thread_id":"t"}`},
		{"r", "", "k2", `{"idempotency_key":"k2","own":1.50,"request_sha256":"h","run_id":"r"}`},
		{"", "", "", `{"own":1.50,"thread_id":"forged"}`}, // an admin's request may be of any thread
	} {
		if got, err := stampMeta(meta, c.run, c.thread, c.key, "h", nil); err != nil || string(got) != c.want {
			t.Errorf("%s, %v; want %s", got, err, c.want)
		}
	}
	if _, err := stampMeta(json.RawMessage(`[]`), "", "", "", "", nil); status(err) != http.StatusUnprocessableEntity {
		t.Errorf("meta that is not an object: %v, want status 422", err)
	}
}

// A server that finds a checkpoint, or a bad one, has the tape's state and keys. After a reset it has none of
// them. A checkpoint has no texts of the tape.
func TestQueueCheckpoint(t *testing.T) {
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "main")
	dir := t.TempDir()
	queues := &tapeQueues{Dir: dir}
	storetest.Must(t, queues.Append(t.Context(), tp, job(t, "k", "one")))
	storetest.Must(t, queues.Append(t.Context(), tp, &writeJob{Drafts: []repo.Draft{setting("actor", "ann", "a", "1")}}))
	_, err := tp.Update(t.Context(), func(tx *repo.Tx) error {
		for i := range checkpointEvery {
			if err := tx.AppendLine(t.Context(), fmt.Appendf(nil, `{"kind":"message","payload":{"role":"user","content":"%d"}}`, i)); err != nil {
				return err
			}
		}
		return nil
	})
	storetest.Must(t, err)
	storetest.Must(t, queues.Hold(t.Context(), tp, func(*tapeQueue) error { return nil }))
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("checkpoints: %q, %v", files, err)
	}
	raw := storetest.ReadFile(t, files[0])
	if strings.Contains(string(raw), "one") || strings.Contains(string(raw), "ann") {
		t.Errorf("the checkpoint has texts of the tape: %.200s", raw)
	}
	check := func(what string, known bool) { // known: the tape has the state and the key
		t.Helper()
		next := &tapeQueues{Dir: dir}
		if got := stateOn(t, next, tp, stateKey{Scope: "actor", Owner: "ann"}); (got == "a=1 ") != known {
			t.Errorf("%s: the state is %q, known should be %v", what, got, known)
		}
		storetest.Must(t, next.Hold(t.Context(), tp, func(l *tapeQueue) error {
			if _, ok := l.Lookup(keyOf("r", "k")); ok != known {
				t.Errorf("%s: the key is known: %v, want %v", what, ok, known)
			}
			return nil
		}))
	}
	check("with the checkpoint", true)
	for what, data := range map[string]string{"torn": string(raw[:len(raw)/2]), "of another version": strings.Replace(string(raw), `"version":2`, `"version":1`, 1),
		"of another tape": strings.Replace(string(raw), `"raw":"`, `"raw":"0`, 1)} {
		storetest.WriteFile(t, files[0], []byte(data))
		check(what, true)
	}
	storetest.Must(t, os.WriteFile(files[0], raw, 0o600))
	_, err = tp.Reset(t.Context(), false)
	storetest.Must(t, err)
	check("after a reset", false)
}
