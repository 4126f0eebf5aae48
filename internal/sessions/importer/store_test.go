package importer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tape/internal/testkit"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// sampleSession is the transcript that make demo imports.
const sampleSession = "../../../cmd/tape/testdata/demo/session.jsonl"

// testStore opens a new workspace that is verified when the test ends.
func testStore(t *testing.T) *repo.Store {
	t.Helper()
	t.Setenv("TAPE_AUTHOR", "Test <test@example.org>")
	ctx := context.Background()
	s, _, err := repo.Init(ctx, filepath.Join(t.TempDir(), "ws"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		report, err := s.Verify(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range report.Problems {
			t.Error(p)
		}
	})
	return s
}

// importPath imports a file, as a batch of one.
func importPath(s *repo.Store, path string, o Options) (res Result, err error) {
	var failed error
	b := NewBatch(s, "1.0", OpenFile, func(r Result, err error) error {
		res, failed = r, err
		return nil
	})
	defer b.Close()
	if err = b.File(context.Background(), path, o); err == nil {
		err = b.Flush(context.Background())
	}
	return res, errors.Join(err, failed)
}

func mustImport(t *testing.T, s *repo.Store, path string, o Options) Result {
	t.Helper()
	res, err := importPath(s, path, o)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// tapeLines returns the stored lines of a tape.
func tapeLines(t *testing.T, s *repo.Store, name string) []string {
	t.Helper()
	tape, err := s.Tape(context.Background(), name)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for e, err := range tape.Entries(context.Background(), repo.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(e.Raw))
	}
	return out
}

// identities returns the keys of a tape's entries, and fails if one is there twice.
func identities(t *testing.T, s *repo.Store, name string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, line := range tapeLines(t, s, name) {
		e, err := jsonl.Parse([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range Keys(e.Meta) {
			if out[key] {
				t.Errorf("%s is on the tape twice", key)
			}
			out[key] = true
		}
	}
	return out
}

// TestImportSample: the demo's session has an anchor and a subagent, and a second import adds nothing.
func TestImportSample(t *testing.T) {
	s := testStore(t)
	res := mustImport(t, s, sampleSession, Options{Format: Auto})
	if res.Format != ClaudeCode || res.Damaged != 0 || res.Anchors != 1 || len(res.Subagents) != 1 {
		t.Errorf("%+v, want one anchor, one subagent and nothing damaged", res)
	}
	if !strings.HasPrefix(res.Subagents[0], res.Tape+"/") {
		t.Errorf("a subagent's tape is not named after its parent: %s", res.Subagents[0])
	}
	tape, err := s.Tape(context.Background(), res.Tape)
	if err != nil {
		t.Fatal(err)
	}
	phases, err := tape.Phases(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if len(phases) != 2 || phases[1].Name != "compaction" || phases[1].Summary() == "" || phases[1].Tag == "" {
		t.Errorf("the phases are %+v, want 2, of which the second is a compaction with a summary and a tag", phases)
	}
	info, err := tape.Info(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if info.Usage.TotalTokens == nil || info.Usage.CacheHitRate == nil || info.Uncommitted != 0 {
		t.Errorf("the info is %+v, want usage, and nothing uncommitted", info)
	}
	before := tapeLines(t, s, res.Tape)
	again := mustImport(t, s, sampleSession, Options{Format: Auto})
	if again.Imported != 0 || again.Known != res.Imported {
		t.Errorf("a second import brought in %+v", again)
	}
	if after := tapeLines(t, s, res.Tape); len(after) != len(before) {
		t.Errorf("%d entries became %d", len(before), len(after))
	}
}

// TestImportFixtures imports real transcripts, each twice.
func TestImportFixtures(t *testing.T) {
	files, err := filepath.Glob("../../../../shared/fixtures/*/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Skip("the real transcripts are not beside this checkout")
	}
	s := testStore(t)
	for _, f := range files {
		res := mustImport(t, s, f, Options{Format: Auto})
		if res.Imported == 0 || res.Damaged != 0 { // two records on a line are not damage
			t.Errorf("%s: %+v", f, res)
		}
		identities(t, s, res.Tape)
		if again := mustImport(t, s, f, Options{Format: Auto}); again.Imported != 0 {
			t.Errorf("%s: a second import brought in %+v", f, again)
		}
	}
}

// TestImportGrownFile imports a file each time it has grown, cut at line ends and
// inside lines.
func TestImportGrownFile(t *testing.T) {
	whole, err := os.ReadFile(sampleSession)
	if err != nil {
		t.Fatal(err)
	}
	s := testStore(t)
	mustImport(t, s, sampleSession, Options{Format: ClaudeCode, Tape: "at-once"})
	grown := filepath.Join(t.TempDir(), "session.jsonl")
	steps := 6
	for i := 1; i <= steps; i++ {
		end := len(whole) * i / steps
		if i%2 == 0 {
			end = bytes.LastIndexByte(whole[:end], '\n') + 1
		}
		if err := os.WriteFile(grown, whole[:end], 0o600); err != nil {
			t.Fatal(err)
		}
		mustImport(t, s, grown, Options{Format: ClaudeCode, Tape: "grown"})
	}
	atOnce, inSteps := identities(t, s, "at-once"), identities(t, s, "grown")
	for key := range atOnce {
		if !inSteps[key] {
			t.Errorf("%s is missing from the tape of the grown file", key)
		}
	}
	for key := range inSteps {
		if !atOnce[key] && !strings.HasPrefix(key, "damaged:") && !strings.HasSuffix(key, "/run") {
			t.Errorf("%s is only on the tape of the grown file", key)
		}
	}
}

// TestImportRepairedLine: a damaged line is kept as an event. After its repair, an import adds only what was missing.
func TestImportRepairedLine(t *testing.T) {
	whole, err := os.ReadFile(sampleSession)
	if err != nil {
		t.Fatal(err)
	}
	all := bytes.SplitAfter(whole, []byte("\n"))
	broken := bytes.Clone(all[100])
	all[100] = append(broken[:len(broken)/2], '\n')
	file := filepath.Join(t.TempDir(), "session.jsonl")
	if err := os.WriteFile(file, bytes.Join(all, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	s := testStore(t)
	first := mustImport(t, s, file, Options{Format: ClaudeCode, Tape: "t"})
	if first.Damaged != 1 {
		t.Fatalf("%+v, want one damaged line", first)
	}
	kept := false
	for _, line := range tapeLines(t, s, "t") {
		kept = kept || strings.Contains(line, `"import.damaged"`)
	}
	if !kept {
		t.Error("the damaged line was not kept")
	}
	repaired := mustImport(t, s, sampleSession, Options{Format: ClaudeCode, Tape: "t"})
	if repaired.Imported == 0 || repaired.Imported > 5 {
		t.Errorf("the repaired line brought in %+v", repaired)
	}
	mustImport(t, s, sampleSession, Options{Format: ClaudeCode, Tape: "whole"})
	have := identities(t, s, "t")
	for key := range identities(t, s, "whole") {
		if !have[key] {
			t.Errorf("%s is missing", key)
		}
	}
}

// TestImportAtOnce imports one file into one workspace, opened several times, at the same time.
func TestImportAtOnce(t *testing.T) {
	s := testStore(t)
	results := make([]Result, 4)
	errs := make([]error, len(results))
	var group sync.WaitGroup
	for i := range results {
		group.Go(func() {
			other, err := repo.Open(context.Background(), s.Dir(), nil)
			if err == nil {
				results[i], err = importPath(other, sampleSession, Options{Format: Auto})
			}
			errs[i] = err
		})
	}
	group.Wait()
	total := 0
	for i, res := range results {
		if errs[i] != nil {
			t.Error(errs[i])
		}
		total += res.Imported
	}
	alone := testStore(t)
	want := mustImport(t, alone, sampleSession, Options{Format: Auto})
	if total != want.Imported {
		t.Errorf("together they imported %d entries, one alone %d", total, want.Imported)
	}
	identities(t, s, want.Tape)
}

const bubTape = `{"id": 1, "kind": "anchor", "payload": {"name": "session/start", "state": {"owner": "human"}}, "meta": {}, "date": "2026-01-01T00:00:00.000000+00:00"}
{"id": 2, "kind": "message", "payload": {"role": "user", "content": "数据库", "x": 1.0}, "meta": {}, "date": "2026-01-01T00:00:01.000000+00:00"}
{"id": 3, "kind": "anchor", "payload": {"name": "p2"}, "meta": {"k": 1e400}, "date": "2026-01-01T00:00:02.000000+00:00"}
{"id": 4, "kind": "event", "payload": {"name": "run", "data": {"usage": {"prompt_tokens": 100, "total_tokens": 130, "prompt_tokens_details": {"cached_tokens": 75}}}}, "meta": {}, "date": "2026-01-01T00:00:03.000000+00:00"}
`

// TestImportBub: Bub's files are in our format, and are stored unchanged.
func TestImportBub(t *testing.T) {
	s := testStore(t)
	file := filepath.Join(t.TempDir(), "0a1b__my%2Ftape.jsonl")
	if err := os.WriteFile(file, []byte(bubTape), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if res := mustImport(t, s, file, Options{Format: Auto}); res.Format != Bub || res.Tape != "my/tape" {
			t.Errorf("%+v, want the format %s and the tape my/tape", res, Bub)
		}
		mustImport(t, s, file, Options{Format: Bub, Tape: "main"})
	}
	if got := strings.Join(tapeLines(t, s, "my/tape"), "\n") + "\n"; got != bubTape {
		t.Errorf("the tape reads\n%s\nwant\n%s", got, bubTape)
	}
	main := tapeLines(t, s, "main")
	if want := strings.Split(bubTape, "\n")[1:4]; len(main) != 4 || main[1] != want[0] || main[2] != want[1] || main[3] != want[2] {
		t.Errorf("into an empty tape, the entries became\n%s", strings.Join(main, "\n"))
	}
	tape, err := s.Tape(context.Background(), "my/tape")
	if err != nil {
		t.Fatal(err)
	}
	info, err := tape.Info(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if u := info.Usage; u.TotalTokens == nil || *u.TotalTokens != 130 || u.CacheHitRate == nil || *u.CacheHitRate != 0.75 {
		t.Errorf("the usage is %+v, want 130 tokens and a hit rate of 0.75", u)
	}
}

// TestSoakImportKilled kills a process in the middle of an import, again and again. The next import completes the
// work, and repeats no entry.
func TestSoakImportKilled(t *testing.T) {
	if os.Getenv("TAPE_IMPORT_INTO") != "" {
		importForever(t)
		return
	}
	s := testStore(t)
	kills := 6
	if os.Getenv("TAPE_SOAK") != "" {
		kills = 60
	}
	for i := range kills {
		killed(t, s.Dir(), i)
	}
	alone := testStore(t)
	want := mustImport(t, alone, sampleSession, Options{Format: Auto})
	mustImport(t, s, sampleSession, Options{Format: Auto})
	if got := len(tapeLines(t, s, want.Tape)); got != len(tapeLines(t, alone, want.Tape)) {
		t.Errorf("after %d kills the tape has %d entries, not as many as one import", kills, got)
	}
	identities(t, s, want.Tape)
}

// importForever is what the process does that killed starts: it imports until it is killed.
func importForever(t *testing.T) {
	s, err := repo.Open(context.Background(), os.Getenv("TAPE_IMPORT_INTO"), nil)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(os.Stderr, "ready")
	for i := 0; ; i++ {
		name := ""
		if i > 0 {
			name = fmt.Sprintf("round-%s-%d", os.Getenv("TAPE_IMPORT_ROUND"), i)
		}
		if _, err := importPath(s, sampleSession, Options{Format: Auto, Tape: name}); err != nil {
			t.Fatal(err)
		}
	}
}

// killed starts a process that imports, and kills it at a random moment.
func killed(t *testing.T, dir string, round int) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestSoakImportKilled$")
	cmd.Env = append(os.Environ(), "TAPE_IMPORT_INTO="+dir, fmt.Sprint("TAPE_IMPORT_ROUND=", round))
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make([]byte, len("ready"))
	if _, err := stderr.Read(ready); err != nil {
		t.Fatal(err)
	}
	// Spread over the time that one import takes, and a little beyond.
	testkit.AtSomeTime(testkit.Random(t), 250*time.Millisecond)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// TestImportIntoDamagedTape: if a tape cannot be read, it is unknown which entries it
// has, so nothing is added to it.
func TestImportIntoDamagedTape(t *testing.T) {
	s := testStore(t)
	all, err := os.ReadFile(sampleSession)
	if err != nil {
		t.Skip(err)
	}
	session := filepath.Join(t.TempDir(), "session.jsonl")
	grow := func(to int) {
		if err := os.WriteFile(session, all[:bytes.LastIndexByte(all[:to], '\n')+1], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	grow(len(all) / 2)
	res := mustImport(t, s, session, Options{Format: Auto})
	tape, err := s.Tape(t.Context(), res.Tape)
	if err == nil {
		_, err = tape.Append(t.Context(), nil, repo.Message("user", "written beside it"))
	}
	if err != nil {
		t.Fatal(err)
	}
	grow(len(all))
	file := filepath.Join(s.Dir(), "tapes", res.Tape, "anchors", "001_session-start", "messages.jsonl")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bytes.Replace(whole, []byte(`"kind"`), []byte(`#kind#`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if again, err := importPath(s, session, Options{Format: Auto}); err == nil {
		t.Errorf("the import went on: %+v", again)
	}
	if err := os.WriteFile(file, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if again := mustImport(t, s, session, Options{Format: Auto}); again.Imported == 0 {
		t.Error("after the repair of the tape, the new entries were not imported")
	}
	if again := mustImport(t, s, session, Options{Format: Auto}); again.Imported != 0 {
		t.Errorf("%d entries are there twice", again.Imported)
	}
}
