package host

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"tape/internal/serve/host/api"
	"tape/internal/testkit"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// TestManyRuns has many parallel runs and slow readers: each entry is there once, in the order of
// its run, and each reader gets all of them once and in order.
func TestManyRuns(t *testing.T) {
	p := newPeer(t)
	runs, conversations, says := testkit.Size(20, 200), 4, 5
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	p.run(api.RunRequest{Conversation: "c0"}) // there is something to follow
	got := make(chan []string, 10)
	for range cap(got) {
		go func() { got <- p.follow(ctx, "c0", "the last") }()
	}
	var group sync.WaitGroup
	for i := range runs {
		group.Go(func() { p.story(fmt.Sprint("c", i%conversations), fmt.Sprint("run ", i), says) })
	}
	group.Wait()
	p.say("c0", "the last")
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	t.Logf("%d runs, %d MiB of heap", runs, memory.HeapAlloc>>20)
	all := map[string]bool{}
	var first []string
	for c := range conversations {
		next := map[string]int{}
		for e, err := range tapeOf(t, p.s.Store, fmt.Sprint("c", c)).Entries(t.Context(), repo.Query{Kinds: []string{repo.KindMessage}}) {
			if err != nil {
				t.Fatal(err)
			}
			text := jsonl.GetString(e.Payload, "content")
			if c == 0 {
				first = append(first, text)
			}
			if run, n, ok := strings.Cut(text, ": "); ok {
				if want := fmt.Sprint(next[run]); n != want || all[text] {
					t.Errorf("%s says %s, want %s and each once", run, n, want)
				}
				next[run]++
				all[text] = true
			}
		}
	}
	if len(all) != runs*says {
		t.Errorf("%d of %d messages are there", len(all), runs*says)
	}
	for range cap(got) {
		if list := <-got; strings.Join(list, "|") != strings.Join(first, "|") {
			t.Errorf("a reader got %d of %d: %q", len(list), len(first), list)
		}
	}
}

// story plays a run from its start to its end.
func (p *peer) story(conversation, name string, says int) {
	r := p.run(api.RunRequest{Conversation: api.Conversation(conversation)})
	own := p.as(r.Token)
	own.want(200, "GET", "/history?limit=3", nil, nil)
	for i := range says {
		own.want(200, "POST", "/runs/"+r.RunID+"/results", map[string]any{"results": []any{
			map[string]any{"sequence": i + 1, "type": "message.completed", "data": map[string]any{"content": fmt.Sprintf("%s: %d", name, i)}}}}, nil)
	}
	own.want(200, "POST", "/runs/"+r.RunID+"/results", map[string]any{"results": []any{
		map[string]any{"sequence": says + 1, "type": "run.completed", "data": map[string]any{"finish_reason": "stop"}}}}, nil)
}

// follow reads a stream slowly until it has a message, and reconnects after every ten.
func (p *peer) follow(ctx context.Context, conversation, last string) (out []string) {
	at := ""
	for ctx.Err() == nil {
		next := p
		if at != "" {
			next = p.with("Last-Event-ID", at)
		}
		res, err := next.send(ctx, http.MethodGet, "/events/stream?conversation_id="+conversation, nil)
		if err != nil {
			return append(out, err.Error())
		}
		lines := bufio.NewScanner(res.Body)
		lines.Buffer(nil, 4<<20)
		for n := 0; n < 10 && lines.Scan(); {
			if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
				at = id
			}
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok {
				continue
			}
			if n++; jsonl.GetString([]byte(data), "type") == repo.KindMessage {
				out = append(out, jsonl.GetString([]byte(data), "data", "content"))
			}
			if len(out) > 0 && out[len(out)-1] == last {
				_ = res.Body.Close()
				return out
			}
			testkit.Pause(time.Millisecond)
		}
		_ = res.Body.Close()
	}
	return out
}

// TestReadersThatNeverRead has streams whose clients read nothing: each needs the memory of a page
// at most, and blocks nobody.
func TestReadersThatNeverRead(t *testing.T) {
	p := newPeer(t)
	p.run(api.RunRequest{Conversation: "c0"})
	text := strings.Repeat("x", 512<<10)
	for range 20 {
		p.say("c0", text)
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc >> 20
	}
	before := heap()
	const readers = 10
	for range readers {
		conn, err := net.Dial("tcp", p.web.Listener.Addr().String()) //nolint:noctx // it is the server of this test
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "GET /v1/events/stream?conversation_id=c0 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", p.token)
	}
	const most = readers * 8 // MiB; everything would be 10 for each, several times
	var held uint64
	testkit.Eventually(func() bool { // all of them wait for their readers
		held = heap()
		held -= min(before, held)
		return held <= most
	})
	t.Logf("%d readers hold %d MiB", readers, held)
	if held > most {
		t.Errorf("%d readers hold %d MiB", readers, held)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	p.say("c0", "the last")
	if got := p.follow(ctx, "c0", "the last"); len(got) != 21 {
		t.Errorf("a reader got %d messages, want 21", len(got))
	}
}
