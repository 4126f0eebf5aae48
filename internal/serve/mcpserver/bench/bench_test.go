//go:build extra

package bench

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
)

func TestMain(m *testing.M) { testkit.Main(m, nil, nil) }

// The variables that make bench-mcp sets: the program, and the folder of the transcripts.
const (
	programVar     = "TAPE_BENCH_MCP"
	transcriptsVar = "TRANSCRIPTS"
)

// question is what a person asks the agent. The agent tries the queries, one after the other, until it has read an
// entry with the answer.
type question struct {
	ask     string
	queries []string
	answer  *regexp.Regexp
}

// Limits of the scripted agent.
const (
	readsOfQuery = 2 // hits that it reads before it searches again
	bytesOfToken = 4
	giveUpTokens = 20_000
	targetTokens = 3000 // for the medians
	targetCalls  = 2
	pageTokens   = 1500
)

// hit matches the line of a hit in an answer: its tape and its id.
var hit = regexp.MustCompile(`(?m)^\S.*? \[([^\]]+)\] @(\d+) `)

// agent asks as a model does: it searches, reads what is around the best hits, looks for more in the best session, and searches again.
type agent struct {
	*mcp.ClientSession
	t             *testing.T
	calls, tokens int
	largest       int // tokens of a page of a search
}

func (a *agent) call(tool string, args map[string]any) string {
	a.t.Helper()
	res, err := a.CallTool(a.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	storetest.Must(a.t, err)
	asked, err := json.Marshal(args)
	storetest.Must(a.t, err)
	text := res.Content[0].(*mcp.TextContent).Text
	a.calls++
	a.tokens += (len(asked) + len(text)) / bytesOfToken
	return text
}

// find searches, reads, and searches in the best session, until the agent has seen the answer. It reports whether it has.
func (a *agent) find(q question) bool {
	for _, words := range q.queries {
		found := a.call("tape_search", map[string]any{"query": words})
		a.largest = max(a.largest, len(found)/bytesOfToken)
		if q.answer.MatchString(found) {
			return true
		}
		hits := hit.FindAllStringSubmatch(found, -1)
		for _, h := range hits[:min(len(hits), readsOfQuery)] {
			if q.answer.MatchString(a.call("tape_read", map[string]any{"tape": h[1], "around": "@" + h[2]})) {
				return true
			}
			if a.tokens > giveUpTokens {
				return false
			}
		}
		if len(hits) > 0 && q.answer.MatchString(a.call("tape_search", map[string]any{"query": words, "tape": hits[0][1]})) {
			return true
		}
	}
	return false
}

// TestBench prints a line for each question, and the medians.
func TestBench(t *testing.T) {
	program, transcripts := os.Getenv(programVar), os.Getenv(transcriptsVar)
	if program == "" || transcripts == "" {
		t.Skip("make bench-mcp TRANSCRIPTS=DIR runs this on the sessions in DIR")
	}
	dir := t.TempDir()
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command(program, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("tape %s: %v\n%s", args[0], err, out)
		}
	}
	run("init", ".")
	run(append([]string{"import", "--quiet"}, sessionsIn(t, transcripts)...)...)
	run("index", "sync")
	cmd := exec.Command(program, "mcp")
	cmd.Dir = dir
	client, err := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	storetest.Must(t, err)
	defer func() { _ = client.Close() }()
	var calls, tokens []int
	answered, first, largest := 0, 0, 0
	asked := slices.Clone(questions)
	var missing []string
	for _, q := range slices.Concat(publicQuestions, projectQuestions) {
		if _, err := os.Stat(filepath.Join(transcripts, q.from)); err == nil {
			asked = append(asked, q.question)
		} else if !slices.Contains(missing, q.from) {
			missing = append(missing, q.from)
		}
	}
	if len(missing) > 0 {
		t.Logf("missing in TRANSCRIPTS, so their questions are left out: %s", strings.Join(missing, ", "))
	}
	for _, q := range asked {
		a := &agent{ClientSession: client, t: t}
		found := a.find(q)
		if found {
			answered++
		}
		if found && a.calls == 1 {
			first++
		}
		largest = max(largest, a.largest)
		if !found {
			a.calls, a.tokens = max(a.calls, 2*len(q.queries)*(2+readsOfQuery)), max(a.tokens, giveUpTokens)
		}
		calls, tokens = append(calls, a.calls), append(tokens, a.tokens)
		t.Logf("%2d calls %6d tokens  found %-5v  %s", a.calls, a.tokens, found, q.ask)
	}
	slices.Sort(calls)
	slices.Sort(tokens)
	t.Logf("median of %d questions: %d calls (target: %d), %d tokens (target: %d)", len(asked), calls[len(calls)/2], targetCalls, tokens[len(tokens)/2], targetTokens)
	t.Logf("answered: %d, by the first call: %d; the largest page of a search has %d tokens (limit: %d)", answered, first, largest, pageTokens)
}

// sessionsIn returns the transcripts below a folder: those directly in its folders, and those below a folder named
// session.
func sessionsIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	storetest.Must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, dir)
		in := strings.Contains(name, "/session/") || strings.Count(name, "/") == 2
		if ext := filepath.Ext(path); !d.IsDir() && in && (ext == ".jsonl" || ext == ".json") && !settings.MatchString(name) {
			names = append(names, path)
		}
		return nil
	}))
	return names
}

// settings matches files beside the transcripts that are not transcripts.
var settings = regexp.MustCompile(`/cline/|/crush/|settings|usage_record|config|meta\.json|runtime|cursor|models|trust|logs\.json|state\.json|snapshot|index\.json|history|installation|auth|hooks|sidebar`)
