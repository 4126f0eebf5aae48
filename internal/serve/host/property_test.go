package host

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
	"time"

	"tape/internal/serve/host/api"
	"tape/internal/testkit"
	"tape/repo"
)

// mark returns a text that is only in entries of one conversation or thread.
func mark(conversation, thread int) string { return fmt.Sprintf("zq%dx%dqz", conversation, thread) }

// world has runs of several conversations and threads. None may see the marks of another.
type world struct {
	*peer
	rnd  *rand.Rand
	runs []inhabitant
	n    int
	kept []string // ids of artifacts
}

type inhabitant struct {
	*peer
	id                   string
	conversation, thread int // thread 0: all of them
}

const conversations, threads = 3, 3

func (w *world) populate() {
	for c := range conversations {
		name := fmt.Sprint("conv", c)
		for th := range threads {
			q := api.RunRequest{Runner: fmt.Sprint("runner", c), Conversation: api.Conversation(name), Actor: api.Party{ID: fmt.Sprint("actor", c)}}
			if th > 0 {
				q.Thread = fmt.Sprint("thread", th)
			}
			run := w.run(q)
			w.runs = append(w.runs, inhabitant{w.as(run.Token), run.RunID, c, th})
			w.write(w.runs[len(w.runs)-1])
			var kept api.ArtifactAnswer
			w.as(run.Token).want(201, "POST", "/artifacts?name="+mark(c, th), mark(c, th), &kept)
			w.kept = append(w.kept, kept.ID)
			w.as(run.Token).want(200, "PUT", "/state/actor/k"+mark(c, 0), `"`+mark(c, 0)+`"`, nil)
		}
	}
}

func (w *world) write(r inhabitant) {
	w.n++
	body := fmt.Sprintf(`{"entries":[{"kind":"message","payload":{"role":"assistant","content":"word %s n%dn"}}]}`, mark(r.conversation, r.thread), w.n)
	r.want(201, "POST", fmt.Sprintf("/tapes/conv%d/entries", r.conversation), body, nil)
}

func (w *world) pick(list ...string) string { return list[w.rnd.IntN(len(list))] }

// request returns a random path with random parameters, most of them another run's.
func (w *world) request() string {
	c := fmt.Sprint("conv", w.rnd.IntN(conversations+1))
	path := w.pick("/history", "/history", "/history/search", "/events", "/events/"+fmt.Sprint(w.rnd.IntN(30)), "/events/"+c+"@"+fmt.Sprint(w.rnd.IntN(30)),
		"/tapes", "/tapes/"+c+"/anchors", "/tapes/"+c+"/context", "/diff", "/state/conversation", "/state/actor", "/state/runner/k1", "/state/conversation/k1", "/artifacts/"+w.pick(w.kept...), "/artifacts/"+w.pick(w.kept...)+"/content", "/runs/"+w.runs[w.rnd.IntN(len(w.runs))].id)
	q := url.Values{}
	if path == "/diff" {
		q.Set("a", c)
		q.Set("b", fmt.Sprint("conv", w.rnd.IntN(conversations)))
	}
	if path == "/history/search" {
		q.Set("q", w.pick("word", mark(w.rnd.IntN(conversations), w.rnd.IntN(threads))))
	}
	for name, value := range map[string]string{"conversation_id": w.pick(c, "host", "audit", c+"/f1", "../"+c), "thread_id": w.pick("thread1", "thread2", ""),
		"limit": w.number(), "top_k": w.number(), "owner": w.pick("actor0", "actor1"), "max_tokens": w.number(), "offset": w.number(), "length": w.number(), "after_cursor": "AAAA"} {
		if w.rnd.IntN(5) == 0 && (w.rnd.IntN(20) == 0 || takes(path, name)) {
			q.Set(name, value)
		}
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// takes reports whether most endpoints of a path have a parameter.
func takes(path, name string) bool {
	switch name {
	case "conversation_id":
		return !strings.HasPrefix(path, "/tapes") && path != "/diff" && !strings.HasPrefix(path, "/runs")
	case "thread_id":
		return strings.HasPrefix(path, "/history") || strings.HasPrefix(path, "/events")
	case "limit":
		return path == "/history" || path == "/events" || path == "/tapes"
	case "offset", "length":
		return strings.HasSuffix(path, "/content")
	case "top_k":
		return path == "/history/search"
	case "owner":
		return strings.HasPrefix(path, "/state")
	case "max_tokens":
		return strings.HasSuffix(path, "/context")
	}
	return false
}

// change returns a random write, mostly to the run's own conversation. What it writes has the run's
// mark; state belongs to all threads.
func (w *world) change(r inhabitant) (method, path, body string) {
	w.n++
	c, own := r.conversation, mark(r.conversation, r.thread)
	if w.rnd.IntN(4) == 0 {
		c = w.rnd.IntN(conversations)
	}
	fork := fmt.Sprint("f", w.rnd.IntN(4))
	tape := "/tapes/" + w.pick(fmt.Sprint("conv", c), fmt.Sprintf("conv%d%%2F%s", c, fork))
	number := w.pick("0", "-1", "1", "7", "99999999999999999999999", "-9223372036854775808", `"x"`, "1e3")
	key := fmt.Sprintf("/state/%s/k%d", w.pick("conversation", "actor", "runner", "subject"), w.rnd.IntN(3))
	run := "/runs/" + w.pick(r.id, r.id, w.runs[w.rnd.IntN(len(w.runs))].id)
	switch w.rnd.IntN(10) {
	case 0:
		return "POST", tape + "/handoff", fmt.Sprintf(`{"name":"p%d","summary":%q,"state":{"n":%s}}`, w.n, own, number)
	case 1:
		return "POST", tape + "/fork", fmt.Sprintf(`{"name":%q,"at":%s}`, fork, w.pick("0", number))
	case 2:
		return "POST", fmt.Sprintf("/tapes/conv%d/", c) + w.pick("merge", "discard"), fmt.Sprintf(`{"fork":%q}`, fork)
	case 3:
		th := 0 // state of other scopes belongs to all threads
		if strings.HasPrefix(key, "/state/conversation") {
			th = r.thread
		}
		return "PUT", key, fmt.Sprintf(`{"n":%s,"text":%q}`, number, mark(r.conversation, th))
	case 4:
		return "DELETE", key, ""
	case 5:
		return "POST", "/artifacts?name=" + own, fmt.Sprint(own, w.n)
	case 6:
		return "POST", run + "/results", fmt.Sprintf(`{"results":[{"sequence":%s,"type":%q,"data":{"content":%q,"scope":"conversation","key":"k1","value":1}}]}`,
			w.pick(fmt.Sprint(w.n), number), w.pick("message.completed", "tool.call.started", "state.updated", "odd"), own)
	case 7:
		return "POST", run + "/" + w.pick("heartbeat", "steering/pull", "steering"), "{}"
	}
	return "POST", tape + "/entries", fmt.Sprintf(`{"entries":[{"kind":%q,"payload":{"role":"assistant","content":"word %s n%dn","n":%s}}]}`, w.pick("message", "note", "state"), own, w.n, number)
}

func (w *world) number() string {
	return w.pick("0", "-1", "1", "3", "100", "101", "99999999999999999999999", "-99999999999999999999999", "x", "1e3")
}

// check searches for what a run must not see. A run's own parameters may come back in errors.
func (w *world) check(r inhabitant, path string, code int, body string) {
	w.t.Helper()
	if code >= 500 {
		w.t.Fatalf("%s: %d %s", path, code, body)
	}
	for c := range conversations {
		for th := range threads {
			if c == r.conversation && (r.thread == 0 || th == r.thread || th == 0 && strings.HasPrefix(path, "/state/") && !strings.HasPrefix(path, "/state/conversation")) {
				continue
			}
			if strings.Contains(body, mark(c, th)) {
				w.t.Fatalf("run of conv%d thread %d sees conv%d thread %d by %s:\n%s", r.conversation, r.thread, c, th, path, body)
			}
		}
	}
	most := 100
	if strings.HasPrefix(path, "/history/search") {
		most = 50
	}
	if n := strings.Count(body, `"event_id":`); n > most && !strings.HasPrefix(path, "/diff") {
		w.t.Fatalf("%s: %d items, want at most %d", path, n, most)
	}
}

// TestProperty sends random requests of random runs, a quarter of them writes.
func TestProperty(t *testing.T) {
	n := testkit.Size(500, 10_000)
	w := &world{peer: newPeer(t), rnd: testkit.Random(t)}
	w.populate()
	answers := map[int]int{}
	for i := range n {
		*w.now = w.now.Add(100 * time.Millisecond) // within the rate, and the runs' hour
		r := w.runs[w.rnd.IntN(len(w.runs))]
		method, path, in := "GET", w.request(), ""
		if i%4 == 0 {
			method, path, in = w.change(r)
		}
		code, body, _ := r.ask(method, path, in)
		answers[code]++
		var kept api.ArtifactAnswer
		if code == 201 && json.Unmarshal(body, &kept) == nil && kept.ID != "" {
			w.kept = append(w.kept, kept.ID)
		}
		w.check(r, path, code, string(body))
	}
	t.Logf("answers by status: %v", answers)
	if answers[200] < n/10 || answers[404] < n/10 {
		t.Errorf("the requests were too much of one kind: %v", answers)
	}
}

// TestCursorsWhileOthersWrite pages both ways through a conversation that grows.
func TestCursorsWhileOthersWrite(t *testing.T) {
	w := &world{peer: newPeer(t), rnd: rand.New(rand.NewPCG(1, 2))}
	w.populate()
	for range 60 {
		w.write(w.runs[w.rnd.IntN(len(w.runs))])
	}
	for _, r := range w.runs {
		seen := map[int64]int{}
		var first api.Page
		*w.now = w.now.Add(10 * time.Second)
		r.want(200, "GET", "/history?direction=forward&limit=1", nil, &first)
		for _, item := range first.Items {
			seen[item.Seq]++
		}
		cursor := first.NextCursor
		for grown := 0; ; {
			*w.now = w.now.Add(time.Second)
			var page api.Page
			r.want(200, "GET", fmt.Sprintf("/history?limit=%d&after_cursor=%s", 1+w.rnd.IntN(9), cursor), nil, &page)
			for _, item := range page.Items {
				seen[item.Seq]++
			}
			cursor = page.NextCursor
			if grown++; grown < 5 {
				w.write(r)
			} else if !page.HasMore {
				break
			}
		}
		want := 0
		t0, _ := w.s.Store.Tape(t.Context(), fmt.Sprint("conv", r.conversation))
		view := access{Tape: t0}
		if r.thread > 0 {
			view.thread = fmt.Sprint("thread", r.thread)
		}
		for e, err := range t0.Entries(t.Context(), repo.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			if isShown(e) && view.inThread(e) {
				want++
			}
		}
		for id, n := range seen {
			if n != 1 {
				t.Errorf("@%d came %d times", id, n)
			}
		}
		if len(seen) != want {
			t.Errorf("%d of %d items came", len(seen), want)
		}
	}
}
