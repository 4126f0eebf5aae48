package host

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tape/internal/serve/host/api"
	"tape/internal/testkit"
	"tape/internal/text/jsonl"
	"tape/merge"
	"tape/repo"
)

// clones are a server's workspace and another one, which share a remote.
type clones struct {
	*peer
	rnd   *rand.Rand
	other *repo.Store
	n     int
}

func newClones(t *testing.T) *clones {
	t.Helper()
	x := &clones{peer: newPeer(t), rnd: testkit.Random(t)}
	remote := filepath.Join(t.TempDir(), "remote.git")
	if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", "--bare", remote).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	x.run(api.RunRequest{Conversation: "chat"})
	x.ok(x.s.Store.AddRemote(t.Context(), "origin", remote))
	_, err := x.s.Store.Push(t.Context(), "origin", nil)
	x.ok(err)
	x.other, _, err = repo.Clone(t.Context(), remote, filepath.Join(t.TempDir(), "other"), nil)
	x.ok(err)
	return x
}

func (x *clones) ok(err error) {
	x.t.Helper()
	if err != nil {
		x.t.Fatal(err)
	}
}

func (x *clones) pull(s *repo.Store) {
	x.t.Helper()
	_, err := merge.Pull(x.t.Context(), s, "origin", nil)
	x.ok(err)
}

func (x *clones) text() string { x.n++; return fmt.Sprint("text ", x.n) }

// theirs appends in the other workspace and pushes.
func (x *clones) theirs() {
	x.t.Helper()
	ctx := x.t.Context()
	x.pull(x.other)
	_, err := tapeOf(x.t, x.other, "chat").Append(ctx, nil, repo.Message("user", x.text()), repo.Message("user", x.text()))
	x.ok(err)
	_, err = x.other.Push(ctx, "origin", nil)
	x.ok(err)
}

// step changes the conversation in a random way.
func (x *clones) step() {
	x.t.Helper()
	ctx := x.t.Context()
	switch x.rnd.IntN(12) {
	case 0:
		x.theirs()
	case 1:
		x.pull(x.s.Store)
	case 2:
		x.pull(x.s.Store)
		_, err := x.s.Store.Push(ctx, "origin", nil)
		x.ok(err)
	case 3:
		name := fmt.Sprint("f", x.n)
		x.want(201, "POST", "/tapes/chat/fork", api.ForkRequest{Name: name}, nil)
		x.say("chat%2F"+name, x.text())
		x.say("chat", x.text())
		x.want(200, "POST", "/tapes/chat/merge", api.CloseRequest{Fork: name}, nil)
	default:
		x.say("chat", x.text())
	}
}

func (x *clones) texts() (out []string) {
	for e, err := range tapeOf(x.t, x.s.Store, "chat").Entries(x.t.Context(), repo.Query{Kinds: []string{repo.KindMessage}}) {
		x.ok(err)
		out = append(out, jsonl.GetString(e.Payload, "content"))
	}
	return out
}

// follower reads pages. When its cursor is refused, it begins again.
type follower struct {
	forward       bool
	cursor        string
	seen          []string
	first         []string // the texts on the tape when it began
	refused, done int
}

func (x *clones) read(r *follower) {
	x.t.Helper()
	if r.cursor == "" {
		r.seen, r.first = nil, x.texts()
	}
	side, direction := "before_cursor", "backward"
	if r.forward {
		side, direction = "after_cursor", "forward"
	}
	path := fmt.Sprintf("/history?conversation_id=chat&direction=%s&limit=%d", direction, 1+x.rnd.IntN(12))
	if r.cursor != "" {
		path += "&" + side + "=" + r.cursor
	}
	code, body, _ := x.ask("GET", path, nil)
	if code == 409 {
		r.refused++
		r.cursor = ""
		return
	}
	var page api.Page
	if err := json.Unmarshal(body, &page); err != nil || code != 200 {
		x.t.Fatalf("%d %s", code, body)
	}
	for _, item := range page.Items {
		if item.ItemType == repo.KindMessage {
			r.seen = append(r.seen, item.Content)
		}
	}
	r.cursor = page.NextCursor
	if page.HasMore {
		return
	}
	want := r.first
	if r.forward {
		want = x.texts()
	} else {
		r.cursor = ""
		slices.Reverse(r.seen)
	}
	if !slices.Equal(r.seen, want) {
		x.t.Fatalf("forward %v: seen\n%q\nnot\n%q", r.forward, r.seen, want)
	}
	if r.done++; x.rnd.IntN(3) == 0 {
		r.cursor = ""
	}
}

// TestCursors pages both ways while others append, merge and pull: what was there at the beginning
// is seen once and in order, or the cursor is refused.
func TestCursors(t *testing.T) {
	t.Parallel()
	x := newClones(t)
	readers := []*follower{{}, {}, {forward: true}, {forward: true}}
	for range testkit.Size(40, 2000) {
		x.step()
		for _, r := range readers {
			*x.now = x.now.Add(time.Second)
			x.read(r)
		}
	}
	for _, r := range readers {
		for before := r.done; r.done == before; {
			x.read(r)
		}
		t.Logf("forward %v: %d times to the end, %d refused", r.forward, r.done, r.refused)
	}
}

// A cursor whose entry a pull has renumbered is refused, by streams as well; an earlier one still
// works.
func TestCursorAfterPull(t *testing.T) {
	t.Parallel()
	x := newClones(t)
	var before, after api.EventPage
	x.want(200, "GET", "/events?conversation_id=chat&limit=1", nil, &before)
	x.theirs()
	x.say("chat", "local")
	x.want(200, "GET", "/events?conversation_id=chat&limit=1", nil, &after)
	x.pull(x.s.Store)
	for _, path := range []string{"/events?before_cursor=", "/events?after_cursor=", "/events/stream?after_cursor="} {
		x.fails(409, "conflict", "GET", path+after.PrevCursor+"&conversation_id=chat", nil)
	}
	x.want(200, "GET", "/events?conversation_id=chat&after_cursor="+before.PrevCursor, nil, &after)
	last := after.Items[len(after.Items)-1]
	if len(after.Items) < 3 || jsonl.GetString(last.Data, "content") != "local" || jsonl.Get(last.Metadata, "origin") == nil {
		t.Errorf("after the earlier cursor: %+v, want 3 entries with the renumbered one last", after)
	}
}
