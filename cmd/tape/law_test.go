package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tape/internal/testkit"
	"tape/repo"
)

// The law: no command removes or overwrites what is nowhere else. Each case damages one thing of a workspace, runs one
// command, and follows the hints that it prints, once. Then each entry that had survived the damage can still be read,
// or is in a plain file; files that are not tape's are untouched; and nobody has waited.

// lawWorld is a workspace with several sessions, forks, uncommitted entries and a remote, which cases copy.
type lawWorld struct {
	dir     string
	entries map[string]string // the text of an entry: its tape
	foreign []string          // texts in files that are not tape's
}

const (
	lawHarms = "delete cut empty zero flip lock ourlock link folder"
	// Commands of a case take less; a lock that its process has left costs no more than this.
	lawPatience = 15 * time.Second
)

// lawCommands are the commands of the cases. Names of tapes in front of "!" are those that the command takes away.
func lawCommands() []string {
	return []string{
		"tapes", "log", "--tape t2 log", "--tape main/f1 log", "search token --all-tapes", "context", "--tape t2 export", "info", "stats", "digest",
		"verify", "verify --repair --yes", "gc", "push", "pull", "fetch", "append --text more", "--tape t2 append --text more", "--tape t1 append --text more",
		"--tape main/f1 append --text more", "handoff next", "commit", "new n1", "new t1", "new t2", "--tape t2 fork f9",
		"merge f1 ! main/f1", "discard t1/f2 ! t1/f2", "rm t1 --yes ! t1", "rm t2 --yes ! t2", "--tape t2 reset --archive ! t2", "--tape old restore latest",
		"switch t2", "init", "init .", "anchors", "forks", "import in.jsonl", "--tape t2 commit", "remote list", "--tape t3 append --text more",
	}
}

func newLawWorld(t *testing.T) *lawWorld {
	w := &lawWorld{dir: filepath.Join(t.TempDir(), "world"), entries: map[string]string{}}
	ws := filepath.Join(w.dir, "ws")
	tape := func(args ...string) { mustTape(t, ws, args...) }
	say := func(name string, n int) {
		for range n {
			text := fmt.Sprintf("token-%03d-", len(w.entries))
			w.entries[text] = name
			tape("--tape", name, "append", "--role", "user", "--text", text)
		}
	}
	tape("init", ws)
	for _, cmd := range [][]string{{"init", "-q", "--bare", filepath.Join(w.dir, "r.git")}} {
		if out, err := exec.Command("git", cmd...).CombinedOutput(); err != nil {
			t.Fatal(string(out))
		}
	}
	tape("new", "old")
	say("old", 2)
	tape("switch", "main")
	tape("rm", "old", "--yes")
	say("main", 3)
	tape("handoff", "second", "--summary", "first done")
	tape("new", "t1")
	say("t1", 2)
	tape("new", "t2")
	say("t2", 2)
	tape("--tape", "t2", "handoff", "next", "--summary", "s")
	tape("new", "t3")
	say("t3", 2)
	tape("switch", "main")
	tape("remote", "add", "origin", filepath.Join(w.dir, "r.git"))
	tape("push", "--all")
	tape("gc")
	tape("--tape", "main", "fork", "f1")
	say("main/f1", 2)
	tape("--tape", "t1", "fork", "f2")
	say("t1/f2", 1)
	tape("--tape", "t1/f2", "commit")
	say("main", 2)
	tape("commit")
	say("main", 2)
	say("t2", 2)
	tape("--tape", "t2", "handoff", "third", "--summary", "s")
	say("t2", 2)
	say("t1", 1)
	tape("--tape", "t1", "commit")
	tape("search", "token", "--all-tapes")
	for i, place := range []string{"notes.txt", "anchors/own.txt", "tapes/t2/notes.txt", "tapes/t2/anchors/001_session-start/own.txt", "tapes/own.txt"} {
		text := fmt.Sprintf("foreign-%d-", i)
		w.foreign = append(w.foreign, text)
		lawWrite(t, filepath.Join(ws, filepath.FromSlash(place)), text)
	}
	lawWrite(t, filepath.Join(w.dir, "in.jsonl"), `{"type":"user","sessionId":"s1","cwd":"/p","timestamp":"2026-11-20T10:00:00Z","uuid":"u1","message":{"role":"user","content":"imported"}}`+"\n")
	return w
}

func lawWrite(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// targets lists what can be damaged: every file and folder of the workspace but index.db, which is derived.
func (w *lawWorld) targets(t *testing.T) (out []string) {
	ws := filepath.Join(w.dir, "ws")
	err := filepath.WalkDir(ws, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(ws, path)
		if rel == "." || strings.HasPrefix(rel, "index.db") || strings.HasPrefix(filepath.ToSlash(rel), ".git/hooks/") || strings.Contains(rel, "own.txt") || strings.Contains(rel, "notes.txt") {
			return err
		}
		out = append(out, filepath.ToSlash(rel))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// lawHarm damages a path in one way. It returns false if the way does not fit what is there.
func lawHarm(path, how, outside string) (bool, error) {
	st, err := os.Lstat(path)
	if err != nil {
		return false, err
	}
	if st.IsDir() {
		switch how {
		case "delete":
			return true, os.RemoveAll(path)
		case "link":
			if err := os.RemoveAll(path); err != nil {
				return false, err
			}
			return true, os.Symlink(outside, path)
		case "empty": // a file in its place
			if err := os.RemoveAll(path); err != nil {
				return false, err
			}
			return true, os.WriteFile(path, nil, 0o600)
		}
		return false, nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return false, err
	}
	write := func(data []byte) (bool, error) {
		_ = os.Chmod(path, 0o600)
		return len(raw) > 0, os.WriteFile(path, data, 0o600)
	}
	switch how {
	case "delete":
		return true, os.Remove(path)
	case "cut":
		return write(raw[:len(raw)/2])
	case "empty":
		return write(nil)
	case "zero":
		return write(make([]byte, len(raw)))
	case "flip":
		data := bytes.Clone(raw)
		if len(data) > 0 {
			data[len(data)/2] ^= 0x15
		}
		return write(data)
	case "lock", "ourlock":
		mode := fs.FileMode(0o600)
		if how == "ourlock" {
			mode = 0o400
		}
		if err := os.WriteFile(path+".lock", nil, mode); err != nil {
			return false, err
		}
		old := time.Now().Add(-time.Hour)
		return true, os.Chtimes(path+".lock", old, old)
	case "link":
		if err := os.Remove(path); err != nil {
			return false, err
		}
		return true, os.Symlink(filepath.Join(outside, "victim"), path)
	case "folder":
		if err := os.Remove(path); err != nil {
			return false, err
		}
		return true, os.MkdirAll(filepath.Join(path, "x"), 0o700)
	}
	return false, nil
}

// lawCase is one damage and one command.
type lawCase struct{ target, how, command string }

func (c lawCase) String() string { return fmt.Sprintf("%s %s: tape %s", c.how, c.target, c.command) }

// TestSoakLaw runs cases that the seed draws: in make soak, all commands for each damage, if TAPE_SOAK_LAW is "all",
// otherwise some of them; in make test a few damages.
func TestSoakLaw(t *testing.T) {
	t.Parallel()
	w := newLawWorld(t)
	random := testkit.Random(t)
	var cases []lawCase
	commands := lawCommands()
	for _, target := range w.targets(t) {
		for how := range strings.SplitSeq(lawHarms, " ") {
			draw := random.Perm(len(commands))
			if os.Getenv("TAPE_SOAK_LAW") != "all" {
				draw = draw[:2]
			}
			for _, i := range draw {
				cases = append(cases, lawCase{target, how, commands[i]})
			}
		}
	}
	random.Shuffle(len(cases), func(i, j int) { cases[i], cases[j] = cases[j], cases[i] })
	if only := os.Getenv("TAPE_LAW_ONLY"); only != "" {
		match := regexp.MustCompile(only)
		cases = nil
		for _, target := range w.targets(t) {
			for how := range strings.SplitSeq(lawHarms, " ") {
				for _, command := range commands {
					if c := (lawCase{target, how, command}); match.MatchString(c.String()) {
						cases = append(cases, c)
					}
				}
			}
		}
	} else {
		cases = cases[:min(len(cases), testkit.Size(20, len(cases)))]
	}
	var left sync.Mutex
	done := 0
	next := func() (c lawCase, ok bool) {
		left.Lock()
		defer left.Unlock()
		if done == len(cases) || t.Context().Err() != nil {
			return c, false
		}
		if deadline, has := t.Deadline(); has && time.Until(deadline) < 30*time.Second {
			t.Logf("stopped for time after %d of %d cases", done, len(cases))
			return c, false
		}
		done++
		return cases[done-1], true
	}
	var all sync.WaitGroup
	for worker := range 3 {
		all.Go(func() {
			dir := filepath.Join(t.TempDir(), fmt.Sprint(worker))
			for c, ok := next(); ok; c, ok = next() {
				(&lawRun{w: w, c: c, dir: dir, t: t}).run()
			}
		})
	}
	all.Wait()
	t.Logf("%d cases", done)
}

// lawRun is one case being run.
type lawRun struct {
	t    *testing.T
	w    *lawWorld
	c    lawCase
	dir  string
	said strings.Builder // everything that was printed
	runs int
}

func (r *lawRun) ws() string { return filepath.Join(r.dir, "ws") }

// fail reports what was broken, with all that was printed.
func (r *lawRun) fail(format string, args ...any) {
	text := r.said.String()
	if len(text) > 6000 {
		text = text[:6000] + "…"
	}
	r.t.Errorf("%s\n  %s\n%s", r.c, fmt.Sprintf(format, args...), text)
}

func (r *lawRun) run() {
	if err := os.RemoveAll(r.dir); err != nil {
		r.t.Error(err)
		return
	}
	if err := lawCopy(r.w.dir, r.dir); err != nil {
		r.t.Error(err)
		return
	}
	outside := filepath.Join(r.dir, "outside")
	_ = os.MkdirAll(outside, 0o700)
	_ = os.WriteFile(filepath.Join(outside, "victim"), []byte("victim"), 0o600)
	fits, err := lawHarm(filepath.Join(r.ws(), filepath.FromSlash(r.c.target)), r.c.how, outside)
	if err != nil {
		r.t.Error(err)
		return
	}
	if !fits {
		return
	}
	before := r.surviving()
	foreign := r.foreign()
	command, takes, _ := strings.Cut(r.c.command, " ! ")
	said := r.command("tape " + command)
	takes += " " + strings.Join(r.follow(said), " ")
	readable := r.readable()
	after := r.surviving()
	var gone []string
	for text := range before {
		if !readable[text] && !after[text] {
			gone = append(gone, text+" of "+r.w.entries[text])
		}
	}
	if len(gone) > 0 {
		slices.Sort(gone)
		r.fail("LOST: %v", gone)
	}
	for _, text := range foreign {
		if !slices.Contains(r.foreign(), text) {
			r.fail("LOST FILE: %s", text)
		}
	}
	if raw, err := os.ReadFile(filepath.Join(outside, "victim")); err != nil || string(raw) != "victim" {
		r.fail("OUTSIDE: the file to which a link led was changed: %q %v", raw, err)
	}
	if names, err := os.ReadDir(outside); err != nil || len(names) != 1 {
		r.fail("OUTSIDE: the folder to which a link led has %v", names)
	}
	r.goesOn()
	readable, after = r.readable(), r.surviving()
	var silent []string
	for text := range before {
		if !readable[text] && r.w.entries[text] != "old" && !strings.Contains(" "+takes+" ", " "+r.w.entries[text]+" ") {
			silent = append(silent, text+" of "+r.w.entries[text])
		}
	}
	if len(silent) > 0 {
		slices.Sort(silent)
		said := r.command("tape verify")
		named := func(text string) bool {
			return strings.Contains(said, r.w.entries[text[:len("token-000-")]]) && after[text[:len("token-000-")]]
		}
		if strings.Contains(said, "[exit 0]") && !slices.ContainsFunc(silent, named) {
			r.fail("SILENT: verify finds nothing, but these cannot be read: %v", silent)
		}
	}
}

// lawHint takes the commands out of hints: a program's name, and words that cannot be English.
var (
	lawHint = regexp.MustCompile(`(?:^|[ (])((?:tape|git) [^;:,)\n]+)`)
	lawWord = regexp.MustCompile(`^(-.*|.*/.*|'.*'|[0-9a-f]{7,}|latest|main|t1|t2|t3|old|n1|origin|list|--|HEAD|@\d+)$`)
)

// hintedCommands returns the commands in what was printed.
func hintedCommands(said string) (out []string) {
	known := strings.Fields("tapes log search context export info stats digest verify gc push pull fetch append handoff commit new fork merge discard rm reset restore " +
		"switch init anchors forks import show archives remote update-ref worktree repair prune fsck checkout stash pop remove unlock status symbolic-ref")
	for line := range strings.Lines(said) {
		hint, ok := strings.CutPrefix(line, "tape: hint: ")
		if !ok {
			continue
		}
		for _, found := range lawHint.FindAllStringSubmatch(strings.TrimSpace(hint), -1) {
			words := strings.Fields(found[1])
			end := 1
			for end < len(words) && (slices.Contains(known, words[end]) && !(end > 1 && words[end-1] == words[end]) || lawWord.MatchString(words[end])) {
				end++
			}
			if end < len(words) && strings.ToUpper(words[end]) == words[end] && strings.ToLower(words[end]) != words[end] {
				continue // a word to be replaced
			}
			if end > 1 {
				out = append(out, strings.Join(words[:end], " "))
			}
		}
	}
	return out
}

// follow runs the commands in hints, each once, and those in their hints. It returns the names of what they took away.
func (r *lawRun) follow(said string) (took []string) {
	todo, ran := hintedCommands(said), map[string]bool{}
	for len(todo) > 0 && len(ran) < 10 {
		next := todo[0]
		todo = todo[1:]
		if ran[next] {
			continue
		}
		ran[next] = true
		if words := strings.Fields(next); len(words) > 2 && (words[1] == "discard" || words[1] == "rm") {
			took = append(took, words[2])
		}
		said := r.command(next)
		if strings.Contains(said, "hint: usage") {
			r.fail("HINT: %s is no command", next)
		}
		todo = append(todo, hintedCommands(said)...)
	}
	return took
}

// command runs a command line in a shell, and returns what it prints.
func (r *lawRun) command(line string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir = r.dir
	if strings.HasPrefix(line, "git ") || line == "tape init ." {
		cmd.Dir = r.ws()
	}
	cmd.Env = append(os.Environ(), "TAPE_WORKSPACE="+r.ws(), "TAPE_HOME="+filepath.Join(r.dir, "home"), "HOME="+r.dir, "TAPE_AUTHOR=Ada <ada@example.org>",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CEILING_DIRECTORIES="+r.dir)
	began := time.Now()
	out, err := cmd.CombinedOutput()
	took := time.Since(began)
	r.runs++
	if len(out) > 3000 {
		out = append(out[:3000:3000], "…\n"...)
	}
	text := fmt.Sprintf("$ %s\n%s[exit %d]\n", line, out, cmd.ProcessState.ExitCode())
	r.said.WriteString(text)
	switch {
	case took > lawPatience:
		r.fail("WAITED: %s for %s", line, took.Round(time.Second))
	case bytes.Contains(out, []byte("panic:")) || bytes.Contains(out, []byte("goroutine ")):
		r.fail("PANIC (%v)", err)
	}
	return text
}

// goesOn checks that the workspace is not stuck: after a repair, sessions are listed and searched, whatever was damaged.
func (r *lawRun) goesOn() {
	if _, err := os.Stat(filepath.Join(r.ws(), ".git", "HEAD")); err != nil || strings.HasPrefix(r.c.target, ".git/config") || r.c.target == ".git/objects" || r.c.target == ".git/tape/config.json" || r.c.target == ".git/tape" {
		return // no repository, or one of which nothing is known
	}
	r.command("tape verify --repair --yes")
	for _, line := range []string{"tape tapes", "tape search token --all-tapes"} {
		// That nothing goes through a link in .git is a promise to those who look at strangers' folders.
		if said := r.command(line); !strings.Contains(said, "[exit 0]") && !strings.Contains(said, "is a link to elsewhere") {
			r.fail("STUCK: %s", line)
		}
	}
}

var lawToken = regexp.MustCompile(`token-\d{3}-|foreign-\d-`)

// surviving returns the texts of entries that are in plain files, or in objects that can be read, whatever leads there.
func (r *lawRun) surviving() map[string]bool {
	out := map[string]bool{}
	r.plain(out)
	if objects, err := lawObjects(filepath.Join(r.ws(), ".git", "objects")); err == nil {
		maps.Copy(out, objects)
	}
	maps.DeleteFunc(out, func(text string, _ bool) bool { return strings.HasPrefix(text, "foreign") })
	return out
}

// foreign returns the texts of files that are not tape's.
func (r *lawRun) foreign() (out []string) {
	found := map[string]bool{}
	r.plain(found)
	for _, text := range r.w.foreign {
		if found[text] {
			out = append(out, text)
		}
	}
	return out
}

// plain adds the texts in plain files.
func (r *lawRun) plain(out map[string]bool) {
	_ = filepath.WalkDir(r.ws(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasPrefix(d.Name(), "index.db") || strings.Contains(path, "/.git/objects/") || strings.Contains(path, "/logs/") {
			return nil
		}
		if raw, err := os.ReadFile(path); err == nil {
			for _, text := range lawToken.FindAll(raw, -1) {
				out[string(text)] = true
			}
		}
		return nil
	})
}

// readable returns the texts that tape reads.
func (r *lawRun) readable() map[string]bool {
	out := map[string]bool{}
	s, err := repo.Open(context.Background(), r.ws(), nil)
	if err != nil {
		return out
	}
	for _, name := range []string{"main", "t1", "t2", "t3", "main/f1", "t1/f2", "old"} {
		tape, err := s.Tape(context.Background(), name)
		if err != nil {
			continue
		}
		for e, err := range tape.Entries(context.Background(), repo.Query{}) {
			if err != nil {
				break
			}
			for _, text := range lawToken.FindAll(e.Raw, -1) {
				out[string(text)] = true
			}
		}
	}
	return out
}
