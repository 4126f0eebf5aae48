package host

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"tape/internal/serve/host/api"
	"tape/internal/testkit"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// twins are two workspaces with the same content, except that the second one has marks instead of
// secrets.
type twins struct {
	t       *testing.T
	rnd     *rand.Rand
	m       *Masker
	real    *peer
	marked  *peer
	runs    [2]*peer
	secrets []string
	words   []string
	ids     []string // of artifacts, as they are seen
}

func newTwins(t *testing.T) *twins {
	t.Helper()
	now := time.Now()
	x := &twins{t: t, rnd: testkit.Random(t), words: []string{"disk", "deploy", "full", "needle", "password", "use"}}
	var key []byte
	for _, to := range []**peer{&x.real, &x.marked} {
		store, _, err := repo.Init(t.Context(), filepath.Join(t.TempDir(), "ws"), &repo.InitOptions{Options: repo.Options{Now: func() time.Time { return time.Unix(1_800_000_000, 0) }}})
		if err == nil && key == nil {
			key, err = store.MarkKey()
		} else if err == nil {
			err = os.WriteFile(store.PrivatePath("mark.key"), key, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		*to = &peer{t: t, now: &now, token: adminToken}
		(*to).start(store)
	}
	x.m = newMasker(key)
	for i, p := range []*peer{x.real, x.marked} {
		if _, err := p.s.Store.CreateTape(t.Context(), "c"); err != nil { // no run begins there: their ids differ
			t.Fatal(err)
		}
		x.runs[i] = p.as(p.run(api.RunRequest{Conversation: "own", Scopes: allScopes()}).Token)
	}
	return x
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

func (x *twins) letters(n int) string {
	out := make([]byte, n)
	for i := range out {
		out[i] = letters[x.rnd.IntN(len(letters))]
	}
	return string(out)
}

// secret returns a text with a secret, which its words or its shape show.
func (x *twins) secret() string {
	if len(x.secrets) > 0 && x.rnd.IntN(3) == 0 {
		return x.secrets[x.rnd.IntN(len(x.secrets))]
	}
	s := "ghp_" + x.letters(36)
	switch x.rnd.IntN(4) {
	case 0:
		s = fmt.Sprintf("DB_PASSWORD=%s%d", x.letters(7), x.rnd.IntN(1e9))
	case 1:
		s = fmt.Sprintf("postgres://app:%s%d@db.internal/x", x.letters(6), x.rnd.IntN(1e6))
	}
	x.secrets = append(x.secrets, s)
	return s
}

func (x *twins) word() string { return x.words[x.rnd.IntN(len(x.words))] }

func (x *twins) text() string {
	parts := []string{x.word(), x.word()}
	if x.rnd.IntN(2) == 0 {
		parts = append(parts, x.secret(), x.word())
	}
	return strings.Join(parts, " ")
}

func (x *twins) date() string {
	return time.Unix(1_700_000_000+x.rnd.Int64N(10_000_000), 0).UTC().Format(time.RFC3339)
}

func quoted(v any) string {
	out, _ := json.Marshal(v)
	return string(out)
}

// entry returns an entry of a random kind, with texts in all its parts.
func (x *twins) entry() string {
	var kind string
	var payload any
	switch x.rnd.IntN(7) {
	case 0:
		kind, payload = "message", map[string]any{"role": "user", "content": []any{map[string]any{"type": "text", "text": x.text()}, map[string]any{"type": "text", "text": x.text()}}}
	case 1:
		arguments := quoted(map[string]any{"cmd": "echo \"" + x.text() + "\"\n"})
		kind, payload = "tool_call", map[string]any{"calls": []any{map[string]any{"id": "c1", "type": "function", "function": map[string]any{"name": "run", "arguments": arguments}}}}
	case 2:
		kind, payload = "tool_result", map[string]any{"results": []any{x.text()}}
	case 3:
		kind, payload = "event", map[string]any{"name": strings.ReplaceAll(x.text(), "=", "-"), "data": map[string]any{"said": x.text(), "deep": []any{map[string]any{"x": x.text()}}}}
	case 4:
		kind, payload = "event", map[string]any{"name": "tool.call.completed", "data": map[string]any{"result": x.text()}}
	default:
		kind, payload = "message", map[string]any{"role": "assistant", "content": x.text()}
	}
	return quoted(map[string]any{"kind": kind, "payload": payload, "date": x.date(), "meta": map[string]any{"note": x.text()}})
}

// both sends a to the workspace with secrets, and b to the other.
func (x *twins) both(method, path string, a, b any) {
	x.t.Helper()
	code, body, _ := x.real.ask(method, path, a)
	other, also, _ := x.marked.ask(method, path, b)
	if code != other || code >= 300 {
		x.t.Fatalf("%s %s: %d %s\n%d %s", method, path, code, body, other, also)
	}
}

// wide returns a text as UTF-16.
func wide(text string) string {
	out := []byte{0xff, 0xfe}
	for _, unit := range utf16.Encode([]rune(text)) {
		out = append(out, byte(unit), byte(unit>>8))
	}
	return string(out)
}

// fill writes the same to both, with marks instead of secrets to the second one.
func (x *twins) fill() {
	x.t.Helper()
	for i := range 40 {
		body := `{"entries":[` + x.entry() + "," + x.entry() + `]}`
		x.both("POST", "/tapes/c/entries", body, string(x.m.JSON(json.RawMessage(body))))
		if i%8 == 0 {
			body = quoted(map[string]any{"name": "plan " + x.secret(), "summary": x.text(), "state": map[string]any{"todo": x.text()}})
			x.both("POST", "/tapes/c/handoff", body, string(x.m.JSON(json.RawMessage(body))))
			key, value := "k "+x.letters(3)+" "+x.secrets[len(x.secrets)-1], quoted(x.text())
			x.real.want(200, "PUT", "/state/conversation/"+url.PathEscape(key)+"?conversation_id=c", value, nil)
			x.marked.want(200, "PUT", "/state/conversation/"+url.PathEscape(x.m.Text(key))+"?conversation_id=c", string(x.m.Named(key, json.RawMessage(value))), nil)
		}
		if i%5 == 0 {
			content := "line of " + x.text() + "\n" + x.secret() + " end\n"
			switch x.rnd.IntN(3) {
			case 0:
				content = wide(content)
			case 1:
				content = "\x89PNG\x00\x01" + content + "\xff\x00"
			}
			name := x.text()
			for p, sent := range map[*peer][2]string{x.real: {content, name}, x.marked: {string(x.m.File(hashOf(content), []byte(content))), x.m.Text(name)}} {
				p.with("Content-Type", "text/plain").want(201, "POST", "/artifacts?conversation_id=c&name="+url.QueryEscape(sent[1]), sent[0], nil)
			}
		}
	}
	var page api.EventPage
	x.runs[1].want(200, "GET", "/events?types=artifact.added&limit=100&conversation_id=c", nil, &page)
	for _, item := range page.Items {
		var data struct {
			Data struct{ Artifact struct{ ID string } }
		}
		if err := json.Unmarshal(item.Data, &data); err != nil {
			x.t.Fatal(err)
		}
		x.ids = append(x.ids, data.Data.Artifact.ID)
	}
}

// piece is a part of a secret, as somebody would guess it.
func (x *twins) piece() string {
	s := x.secrets[x.rnd.IntN(len(x.secrets))]
	from := x.rnd.IntN(len(s))
	to := from + 1 + x.rnd.IntN(len(s)-from)
	return s[from:to]
}

func (x *twins) query() string {
	var parts []string
	for range 1 + x.rnd.IntN(3) {
		part := x.piece()
		switch x.rnd.IntN(6) {
		case 0, 1:
			part += "*"
		case 2:
			part = `"` + part + `"`
		case 3:
			part = x.word()
		case 4:
			part = x.word() + " OR " + part + "*"
		}
		if x.rnd.IntN(4) == 0 {
			part = "-" + part
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " ")
}

// ask returns the path, and perhaps a Range header, of a request by which a run tries to find out a secret.
func (x *twins) ask() (path, head string) {
	q := url.QueryEscape
	switch x.rnd.IntN(15) {
	case 0:
		return fmt.Sprintf("/events?limit=%d&types=%s", 1+x.rnd.IntN(9), q(x.piece())), ""
	case 1:
		return "/events?limit=100&direction=forward", ""
	case 2:
		return "/history?limit=100", ""
	case 3:
		return "/tapes/c/anchors", ""
	case 4:
		return fmt.Sprintf("/tapes/c/context?max_tokens=%d", 100+x.rnd.IntN(3000)), ""
	case 5:
		return "/state/conversation", ""
	case 6:
		return "/state/conversation/" + url.PathEscape("k "+x.piece()), ""
	case 7:
		from := x.rnd.IntN(80)
		return "/artifacts/" + x.ids[x.rnd.IntN(len(x.ids))] + "/content", fmt.Sprintf("bytes=%d-%d", from, from+1+x.rnd.IntN(60))
	case 8:
		return "/artifacts/" + x.ids[x.rnd.IntN(len(x.ids))], ""
	case 9:
		return "/diff?a=c&b=c", ""
	}
	path = fmt.Sprintf("/history/search?top_k=%d&q=%s", 1+x.rnd.IntN(20), q(x.query()))
	switch x.rnd.IntN(4) {
	case 0:
		path += "&event_types=" + q("event,"+x.piece())
	case 1:
		path += "&filters=" + q(quoted(map[string]any{"roles": []string{"user", x.piece()}}))
	case 2:
		path += "&include_artifacts=false"
	}
	return path, ""
}

// changing matches what differs between any two servers.
var changing = regexp.MustCompile(`"[a-z_]*cursor":"[^"]*"|"(created_at|date)":"[^"]*"|run_[0-9a-f]{24}|"ETag":"[^"]*"`)

// TestMaskedRunLearnsNothing: whatever a masked run asks, it gets the answers of a workspace that
// never had the secrets.
func TestMaskedRunLearnsNothing(t *testing.T) {
	t.Parallel()
	x := newTwins(t)
	x.fill()
	found := 0
	for range testkit.Size(300, 20_000) {
		*x.real.now = x.real.now.Add(time.Second)
		path, head := x.ask()
		if !strings.HasPrefix(path, "/diff") && !strings.HasPrefix(path, "/tapes") {
			path += map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")] + "conversation_id=c"
		}
		var got [2]string
		for i, p := range x.runs {
			if head != "" {
				p = p.with("Range", head)
			}
			code, answer, header := p.ask("GET", path, nil)
			got[i] = fmt.Sprint(code, " ", changing.ReplaceAllString(string(answer), ""))
			if head != "" {
				got[i] += fmt.Sprint(header.Get("Content-Range"), header.Get("Etag"))
			}
		}
		if got[0] != got[1] {
			t.Fatalf("%s %s:\n%s\nand without secrets\n%s", path, head, got[0], got[1])
		}
		if strings.Contains(path, "search") && strings.Contains(got[0], `"snippet"`) {
			found++
		}
	}
	if found < 20 {
		t.Errorf("only %d searches found something", found)
	}
	for _, s := range x.secrets { // all that the run can read at once
		for _, path := range []string{"/events?limit=100&conversation_id=c", "/history?limit=100&conversation_id=c", "/state/conversation?conversation_id=c", "/tapes/c/anchors"} {
			*x.real.now = x.real.now.Add(time.Second)
			if _, body, _ := x.runs[0].ask("GET", path, nil); strings.Contains(string(body), s) {
				t.Errorf("%s shows %s", path, s)
			}
		}
	}
}

func hashOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// TestMarksOfGuesses: a run that writes guesses cannot tell from their marks which one is right.
func TestMarksOfGuesses(t *testing.T) {
	p := newPeer(t)
	run := p.run(api.RunRequest{Runner: "r", Conversation: "c", Input: api.Input{Text: "mine is password=Tr0ub4dor99 here"}})
	r := p.as(run.Token)
	const said = "the password=Tr0ub4dor99 there"
	p.say("c", said)
	p.want(201, "POST", "/artifacts?conversation_id=c&name=one", said, nil)
	p.want(201, "POST", "/tapes/c/handoff", map[string]any{"name": "hers", "state": map[string]any{"x": said}}, nil)
	p.want(200, "PUT", "/state/conversation/hers?conversation_id=c", quoted(said), nil)
	marks := func(paths ...string) map[string]bool {
		out := map[string]bool{}
		for _, path := range paths {
			_, body, _ := r.ask("GET", path, nil)
			for _, m := range regexp.MustCompile(`:k[0-9a-f]{16}\]`).FindAllString(string(body), -1) {
				out[m] = true
			}
		}
		return out
	}
	all := []string{"/events?limit=100", "/history?limit=100", "/tapes/c/anchors", "/tapes/c/context", "/state/conversation", "/history/search?q=there&event_types=message,artifact.added"}
	content := func(id string) string { return "/artifacts/" + id + "/content" }
	var page api.EventPage
	r.want(200, "GET", "/events?types=artifact.added", nil, &page)
	hers := marks(append(all, content(jsonl.GetString(page.Items[0].Data, "data", "artifact", "id")))...)
	if len(hers) != 2 { // of what is said, and of the file
		t.Fatalf("the marks of others are %v, want 2", hers)
	}
	var a api.ArtifactAnswer
	r.want(201, "POST", "/artifacts?name="+url.QueryEscape(said), said+"\n", &a)
	r.want(201, "POST", "/tapes/c/entries", `{"entries":[{"kind":"message","payload":{"role":"assistant","content":`+quoted(said)+`}}]}`, nil)
	r.want(201, "POST", "/tapes/c/handoff", map[string]any{"name": said, "state": map[string]any{"x": said}}, nil)
	r.want(200, "PUT", "/state/conversation/mine", quoted(said), nil)
	page = api.EventPage{}
	r.want(200, "GET", "/events?limit=100", nil, &page)
	own := 0
	for _, item := range page.Items {
		if jsonl.GetString(item.Metadata, "author") != "r" && item.Type != "artifact.added" && jsonl.GetString(item.Metadata, "run_id") == "" {
			continue
		}
		for m := range hers {
			if item.Seq > 2+1 && strings.Contains(string(item.Data), m) {
				t.Errorf("%s has the mark %s of what somebody else wrote", item.Data, m)
			}
		}
		own++
	}
	if own < 4 {
		t.Errorf("%d entries are the run's, want at least 4", own)
	}
	for _, path := range []string{content(a.ID), "/artifacts/" + a.ID, "/state/conversation/mine"} {
		got := marks(path)
		if len(got) == 0 {
			t.Errorf("%s shows no mark", path)
		}
		for m := range got {
			if hers[m] {
				t.Errorf("%s has the mark %s of what somebody else wrote", path, m)
			}
		}
	}
	var list api.AnchorList
	r.want(200, "GET", "/tapes/c/anchors", nil, &list)
	if last := quoted(list.Items[len(list.Items)-1]); strings.Contains(last, "Tr0ub") || !strings.Contains(last, "redacted") {
		t.Errorf("the anchor is %s", last)
	} else {
		for m := range hers {
			if strings.Contains(last, m) {
				t.Errorf("the anchor %s has the mark %s", last, m)
			}
		}
	}
}

// TestKeysOfState: a key that is a secret cannot be guessed.
func TestKeysOfState(t *testing.T) {
	p := newPeer(t)
	run := p.run(api.RunRequest{Runner: "r", Conversation: "c"})
	const secret = "ghp_Ab3dE9Zk7QmX2Lw5RtY8Uv1Bn4Cs6Df0Gh3J"
	p.want(200, "PUT", "/state/conversation/"+secret+"?conversation_id=c", "1", nil)
	r := p.as(run.Token)
	for i, key := range []string{secret, secret[:39] + "K"} {
		path := "/state/conversation/" + key
		r.fails(404, "not_found", "GET", path, nil)
		r.fails(422, "invalid_argument", "DELETE", path, nil)
		r.with("If-None-Match", "*").fails(422, "invalid_argument", "PUT", path, "2")
		r.fails(422, "invalid_argument", "POST", "/runs/"+run.RunID+"/results", fmt.Sprintf(`{"results":[{"sequence":%d,"type":"state.updated","data":{"scope":"conversation","key":%q,"value":2}}]}`, i+1, key))
	}
}
