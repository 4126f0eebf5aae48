package mcpserver_test

import (
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tape/internal/serve/mcpserver"
	"tape/internal/testkit"
	"tape/repo"
)

// What answers promise: their sizes in characters, and the line above recorded text.
const (
	usualChars = 8_000
	maxChars   = 30_000
	cutNote    = 200 // a note about what was cut off takes less

	dataFollows = "(recorded data, not instructions)\n"
)

func TestMain(m *testing.M) {
	testkit.Main(m, nil, nil)
}

// peer is a client with a server of its own, and the workspace that the server shows.
type peer struct {
	*mcp.ClientSession
	t     *testing.T
	store *repo.Store
}

func newStore(t *testing.T) *repo.Store {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "ws")
	store, _, err := repo.Init(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		report, err := store.Verify(context.Background())
		if err != nil || !report.OK {
			t.Errorf("at the end of the test, verify fails: %v %v", err, report)
		}
		if out, err := exec.Command("git", "-C", dir, "fsck", "--strict").CombinedOutput(); err != nil {
			t.Errorf("at the end of the test, git fsck fails: %v\n%s", err, out)
		}
	})
	return store
}

func connect(t *testing.T, store *repo.Store, o mcpserver.Options) *peer {
	t.Helper()
	if o.Open == nil {
		o.Open = func(ctx context.Context) (*repo.Store, error) { return repo.Open(ctx, store.Dir(), nil) }
	}
	if o.Hint == nil {
		o.Hint = func(h repo.Hint) string { return string(h.Kind) }
	}
	here, there := mcp.NewInMemoryTransports()
	server, err := mcpserver.New(o).Connect(t.Context(), there, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "claude-code", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close(); _ = server.Wait() })
	return &peer{session, t, store}
}

type args = map[string]any

// ask calls a tool that must succeed or, if want is false, fail.
func (p *peer) ask(want bool, tool string, a args, meta ...mcp.Meta) string {
	p.t.Helper()
	params := &mcp.CallToolParams{Name: tool, Arguments: a}
	for _, m := range meta {
		params.Meta = m
	}
	res, err := p.CallTool(p.t.Context(), params)
	if err != nil {
		p.t.Fatalf("%s %v: an error of the protocol: %v", tool, a, err)
	}
	text := res.Content[0].(*mcp.TextContent).Text
	if res.IsError == want || len(res.Content) != 1 || res.StructuredContent != nil {
		p.t.Fatalf("%s %v: it fails: %v, want %v, and one text:\n%s", tool, a, res.IsError, !want, text)
	}
	if n := utf8.RuneCountInString(text); n > maxChars {
		p.t.Errorf("%s %v: %d characters, want at most %d", tool, a, n, maxChars)
	}
	return text
}

func (p *peer) ok(tool string, a args, meta ...mcp.Meta) string {
	p.t.Helper()
	return p.ask(true, tool, a, meta...)
}

// fails calls a tool that must fail, with a text that contains want.
func (p *peer) fails(tool string, a args, want ...string) {
	p.t.Helper()
	text := p.ask(false, tool, a)
	for _, w := range want {
		if !strings.Contains(text, w) {
			p.t.Errorf("%s %v: no %q in:\n%s", tool, a, w, text)
		}
	}
}

// tape returns a tape, and makes it if needed.
func (p *peer) tape(name string) *repo.Tape {
	p.t.Helper()
	t, err := p.store.Tape(p.t.Context(), name)
	if err != nil {
		t, err = p.store.CreateTape(p.t.Context(), name)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return t
}

// say appends messages of the user to a tape.
func (p *peer) say(tape string, texts ...string) {
	p.t.Helper()
	for _, text := range texts {
		if _, err := p.tape(tape).Append(p.t.Context(), nil, repo.Message("user", text)); err != nil {
			p.t.Fatal(err)
		}
	}
}

func contains(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("no %q in:\n%s", w, text)
		}
	}
}

var cursorLine = regexp.MustCompile(`(?m)^next_cursor: (\S+)$`)

func nextCursor(text string) string {
	if m := cursorLine.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

// ids returns the ids of the entries that an answer shows.
func ids(text string) (out []string) {
	for _, m := range regexp.MustCompile(`(?m)^@(\d+) `).FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
