package approve_test

//tape:race: questions of several calls come one after the other

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tape/hooks"
	"tape/internal/agent/approve"
)

// person answers with a decision, and counts the questions.
type person struct {
	mu       sync.Mutex
	asked    []approve.Request
	decision approve.Decision
	message  string
	err      error
}

func (p *person) Ask(_ context.Context, r approve.Request) (approve.Answer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, r)
	return approve.Answer{p.decision, p.message}, p.err
}

func newGate(t *testing.T, o approve.Options, a approve.Asker) *approve.Gate {
	t.Helper()
	g, err := approve.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if a != nil {
		g.SetAsker(a)
	}
	return g
}

func command(line string) approve.Call {
	raw, err := json.Marshal(map[string]string{"cmd": line})
	if err != nil {
		panic(err)
	}
	return approve.Call{Session: "s", Tool: "bash", Arguments: raw, Preview: hooks.Preview{Command: line}}
}

func write(tool, path string) approve.Call {
	return approve.Call{Session: "s", Tool: tool, Arguments: json.RawMessage(`{}`), Preview: hooks.Preview{Path: path, Named: path, Diff: "-a\n+b\n"}}
}

// project makes a folder with a subfolder sub, and a link named out that leads to another folder.
func project(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, err := range []error{os.Mkdir(filepath.Join(dir, "sub"), 0o700), os.Symlink(t.TempDir(), filepath.Join(dir, "out"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A rule for the first words of a command allows that command, and nothing else in any disguise.
func TestFirstWords(t *testing.T) {
	g := newGate(t, approve.Options{Project: project(t), Allow: []string{"bash(git status)", "bash(go test)", "bash(ls)", "bash(tail)",
		"bash(printf)", "bash(test)", "bash(read)", "bash(mapfile)", "bash(hash)", "bash(./run)", "bash(python3 x.py)"}}, nil)
	for _, line := range []string{
		"git status", "git  status -s", "'git' \"status\"", "git status && go test ./...", "git status; ls\nls -l", "go test ./... 2>&1 | tail -20",
		"cd sub && go test", "printf '%s [%d]\n' $X", "ls >/dev/null 2>&1", "ls $HOME \"$X y\"", "git \\\n status", "! ls", "ls *.go", "ls # rm -rf ~",
	} {
		if err := g.Check(t.Context(), command(line)); err != nil {
			t.Errorf("%q is not allowed: %v", line, err)
		}
	}
	for _, line := range []string{
		"git statusx", "git push", "git -c core.pager=x status", "git", "/tmp/git status", "./git status", "rm -rf ~",
		"git status; rm -rf ~", "git status && rm -rf ~", "git status || rm x", "git status | sh", "git status |& sh", "git status & rm x", "git status &", "git status\nrm x",
		"git status $(rm x)", "git status `rm x`", "git status \"$(rm x)\"", "git status <(rm x)", "git $(echo push)", "$X git status", "${X} status",
		"git status ${X:=$(rm x)}", "git status ${X@P}", "git status $((a[$(rm x)]))", "git status $'\\x3b rm'", "ls @(a|$(rm x))",
		"PATH=. git status", "GIT_PAGER=rm git status", "LD_PRELOAD=./x.so ls", "X=1", "X=1; ls", "env git status", "sudo git status", "command git status", "xargs ls",
		"git status > ~/.bashrc", "ls >> x", "ls > /dev/null/../../x", "ls &> x", "ls < x", "ls <<E\nE", "ls <<< x", "ls >$X", "ls >&x", "exec ls", "eval ls",
		"(git status)", "{ git status; }", "if true; then ls; fi", "for x in ls; do $x; done", "git() { rm x; }; git status", "while ls; do ls; done", "case x in x) ls;; esac",
		"cd .. && ls", "cd / && ls", "cd out && ls", "cd sub/.. && cd .. && ls", "cd ~ && ls", "cd - && ls", "cd && ls", "cd $X && ls", "cd sub", "cd nowhere && ls",
		"cd sub && git status", "ls; cd sub", "coproc ls", "time ls", "[[ -n $(rm x) ]]", "(( x = 1 ))", "export X=$(rm x)", "let x=1", "declare x=1",
		"", "# nothing", "ls 'x", "ls )", "ls\x00rm", "ls \x1b[2J", "ls\r\nrm x", "gi{t,} status", "gi? status", "~/ls",
		"printf -v PATH .; ls", "printf '-v' PATH .", "printf $X \"-\"v PATH .", "printf -vPATH .", "test -v 'a[$(rm x)]'", "ls | mapfile -C 'rm x' -c 1", "hash -p /tmp/x ls; ls",
		"ls | read PATH", "cd sub && ./run", "cd sub && python3 x.py",
	} {
		if err := g.Check(t.Context(), command(line)); !errors.Is(err, hooks.ErrUnanswered) {
			t.Errorf("%q gives %v, want ErrUnanswered", line, err)
		}
	}
	for _, p := range []hooks.Preview{{Command: "ls", Outside: true}, {Command: "git status", Folder: "sub"}, {Command: "./run", Folder: "sub"}} {
		c := command(p.Command)
		c.Preview = p
		if err := g.Check(t.Context(), c); !errors.Is(err, hooks.ErrUnanswered) {
			t.Errorf("%+v gives %v, want ErrUnanswered", p, err)
		}
	}
}

// A rule that denies finds the command behind others, and wins over everything, also over a person's answer.
func TestDenyWins(t *testing.T) {
	yes := &person{decision: approve.Always}
	g := newGate(t, approve.Options{Mode: approve.ModeAuto, Project: project(t), Allow: []string{"*"}, Ask: []string{"bash(rm)"},
		Deny: []string{"bash(rm)", "bash(git push)", "bash(git commit --no-verify)", "fs.*(.env)", "fs.write(secret/**)", "web.fetch(*.evil.example)", "github.*", "mail.*(boss)"}}, yes)
	for _, line := range []string{
		"rm x", "/bin/rm x", "r''m x", "\\rm x", "ls; rm x", "ls\nrm x", "ls $(rm x)", "ls `rm x`", "(rm x)", "if true; then rm x; fi", "f() { rm x; }; f", "ls | rm",
		"X=1 rm x", "env rm x", "env -i X=1 rm x", "sudo -u root rm x", "xargs rm", "nohup nice -n 5 rm x", "find . -exec rm x ';'", "sh -c 'rm x'", "bash -lc 'ls; rm x'",
		"env -S 'rm x'", "su -c 'rm x'", "eval 'rm x'", "eval rm x", "bash -c \"sh -c 'rm x'\"", "git push", "git -C . push", "git --no-pager push origin", "time rm x",
		"export X=$(rm x)", "echo ${X:-$(rm x)}", "cat <(rm x)", "cat <<E\n$(rm x)\nE", "[[ -n $(rm x) ]]", "watch 'rm x'", "trap 'rm x' EXIT",
		"find . -exec rm x \\;", "flock lock rm x", "git push --quiet $X", "echo x | xargs git push", "RM x", "git commit -m x --no-verify", "git commit --no-verify",
	} {
		if err := g.Check(t.Context(), command(line)); err == nil || !strings.Contains(err.Error(), "denied by the user's rule bash(") {
			t.Errorf("%q gives %v, want a denial by a rule for bash", line, err)
		}
	}
	typed := command("rm x")
	typed.Typed = true
	named := write("fs.edit", "real")
	named.Preview.Named = ".env"
	read := approve.Call{Tool: "fs.read", Reads: true, Preview: hooks.Preview{Path: ".ENV", Named: ".ENV"}}
	page := approve.Call{Tool: "web.fetch", Preview: hooks.Preview{Host: "a.evil.example"}}
	for _, c := range []approve.Call{typed, named, read, page, write("fs.write", "secret/a/b"), {Tool: "github.create_issue"}} {
		if err := g.Check(t.Context(), c); err == nil {
			t.Errorf("%s %+v is not denied", c.Tool, c.Preview)
		}
	}
	if len(yes.asked) > 0 {
		t.Errorf("somebody was asked: %+v", yes.asked)
	}
	if err := g.Check(t.Context(), approve.Call{Tool: "mail.send", Arguments: json.RawMessage(`{"to":"x"}`)}); err != nil || len(yes.asked) != 1 {
		t.Errorf("a call that has nothing for the pattern of mail.*(boss) gives %v after %d questions, want 1", err, len(yes.asked))
	}
	for _, line := range []string{"ls", "git log push", "echo rm", "git commit -m 'push rm'", "ls | xargs grep x", "find . -exec ls {} \\;", "git log $X", "bash -x build.sh", "git commit -m \"$X\" --amend"} {
		if err := g.Check(t.Context(), command(line)); err != nil {
			t.Errorf("%q is not allowed: %v", line, err)
		}
	}
	// If it is not known what a line runs, the person is asked, because it may be what a rule denies.
	for _, line := range []string{"$X x", "x=rm; $x", "echo rm | sh", "bash -c \"$X\"", "xargs $X", "ls )", "eval $X", "bash <<< rm",
		"git $X", "git pus[h]", "git {push,origin}", "git push${IFS}origin", "git -C . $X", "echo push | xargs git", "echo rm x | xargs env", "bash -s x <<< 'rm x'", "bash /dev/stdin <<< rm", "bash -o posix <<< rm",
		". /dev/stdin <<< rm", "env -S'rm x'", "env --split-string='rm x'", "sudo -u $X ls"} {
		before := len(yes.asked)
		if err := g.Check(t.Context(), command(line)); err != nil || len(yes.asked) != before+1 {
			t.Errorf("%q gives %v after %d questions, want 1", line, err, len(yes.asked)-before)
		}
	}
}

// The modes: what is allowed (.), what needs an answer (?), and what is refused without a question (!).
func TestModes(t *testing.T) {
	read := approve.Call{Session: "s", Tool: "fs.read", Reads: true, Preview: hooks.Preview{Path: "x", Named: "x"}}
	page := approve.Call{Session: "s", Tool: "web.fetch", Preview: hooks.Preview{Host: "example.org"}}
	other := approve.Call{Session: "s", Tool: "github.create_issue", Arguments: json.RawMessage(`{"title":"x"}`)}
	typed := command("rm x")
	typed.Typed = true
	for mode, want := range map[string]string{"": "....???", approve.ModePlan: "...!?!!", approve.ModeAuto: "......."} {
		calls := []approve.Call{read, typed, typed, command("ls"), page, other, write("fs.edit", "x")} // a rule allows ls
		got := ""
		for i, c := range calls {
			p := &person{decision: approve.Once}
			err := newGate(t, approve.Options{Mode: mode, Project: "/p", Allow: []string{"bash(ls)"}}, p).Check(t.Context(), c)
			switch {
			case err != nil:
				got += "!"
			case len(p.asked) > 0:
				got += "?"
			default:
				got += "."
			}
			if err != nil && len(p.asked) > 0 {
				t.Errorf("mode %q, call %d: refused after a question: %v", mode, i, err)
			}
		}
		if got != want {
			t.Errorf("mode %q: %s, want %s", mode, got, want)
		}
	}
	p := &person{decision: approve.Deny}
	g := newGate(t, approve.Options{Project: "/p"}, p)
	for _, want := range []string{"plan false", "auto true", "ask false"} { // a command, without a question or with one
		mode, _ := g.NextMode()
		if got := fmt.Sprint(mode, " ", g.Check(t.Context(), command("make")) == nil); got != want || g.Mode() != mode {
			t.Errorf("the next mode: %s, want %s", got, want)
		}
	}
	if len(p.asked) != 1 {
		t.Errorf("%d questions, want 1, in the mode ask", len(p.asked))
	}
	if _, err := approve.New(approve.Options{Mode: "yolo"}); err == nil || !strings.Contains(err.Error(), "ask, plan, auto") {
		t.Errorf("an unknown mode gives %v, want the list of modes", err)
	}
	if _, err := approve.New(approve.Options{Deny: []string{"bash(rm; ls)"}}); err == nil {
		t.Error("a rule that cannot be read gives no error")
	}
}

// If there is nobody to ask, the error says what would help, with rules that really do.
func TestNobody(t *testing.T) {
	g := newGate(t, approve.Options{Project: "/p"}, nil)
	err := g.Check(t.Context(), command("go test ./... | head -5"))
	if !errors.Is(err, hooks.ErrUnanswered) || !strings.Contains(err.Error(), `["bash(go test)","bash(head)"]`) || !strings.Contains(err.Error(), "--mode auto") {
		t.Errorf("the error is %v, without both rules or --mode auto", err)
	}
	if err := newGate(t, approve.Options{Project: "/p", Allow: []string{"bash(go test)", "bash(head)"}}, nil).Check(t.Context(), command("go test ./... | head -5")); err != nil {
		t.Errorf("the rules of the hint do not allow the command: %v", err)
	}
	if err := g.Check(t.Context(), command("rm x")); strings.Contains(err.Error(), "setting allow") {
		t.Errorf("a rule is proposed for rm: %v", err)
	}
}

// What each answer allows afterwards.
func TestAnswers(t *testing.T) {
	var kept []string
	remember := func(rules []string) error { kept = append(kept, rules...); return nil }
	for _, c := range []struct {
		decision                approve.Decision
		same, like, unlike, far bool // asked again: the same command, one with the same first words, another one, the same in another session
		kept                    string
	}{
		{approve.Once, true, true, true, true, ""},
		{approve.Session, false, false, true, true, ""},
		{approve.Always, false, false, true, false, "bash(go test)"},
	} {
		kept = nil
		p := &person{decision: c.decision}
		g := newGate(t, approve.Options{Project: "/p", Remember: remember}, p)
		ask := func(session, line string) bool {
			before := len(p.asked)
			call := command(line)
			call.Session = session
			if err := g.Check(t.Context(), call); err != nil {
				t.Errorf("decision %d: %s is refused: %v", c.decision, line, err)
			}
			return len(p.asked) > before
		}
		if !ask("s", "go test ./a") || p.asked[0].Rule != "go test" || p.asked[0].Command != "go test ./a" || p.asked[0].Title != "run a command" {
			t.Errorf("the question is %+v", p.asked)
		}
		p.decision = approve.Once
		if same, like, unlike, far := ask("s", "go test ./a"), ask("s", "go test ./b"), ask("s", "go build"), ask("other", "go test ./a"); same != c.same || like != c.like || unlike != c.unlike || far != c.far {
			t.Errorf("decision %d: asked again: %v %v %v %v, want %v %v %v %v", c.decision, same, like, unlike, far, c.same, c.like, c.unlike, c.far)
		}
		if got := strings.Join(kept, " "); got != c.kept {
			t.Errorf("decision %d keeps %q, want %q", c.decision, got, c.kept)
		}
	}
}

// A denial has the person's words for the model. No decision, an unknown decision and an error count as denials.
func TestDenials(t *testing.T) {
	for _, p := range []*person{{decision: approve.Deny, message: "use make"}, {decision: approve.Deny}, {}, {decision: 99}, {decision: approve.Once, err: errors.New("the screen is gone")}} {
		err := newGate(t, approve.Options{Project: "/p"}, p).Check(t.Context(), command("ls"))
		if err == nil || errors.Is(err, hooks.ErrUnanswered) || p.message != "" && !strings.Contains(err.Error(), "who says: use make") {
			t.Errorf("%+v gives %v, want a denial", p, err)
		}
	}
	failing := func([]string) error { return errors.New("disk full") }
	p := &person{decision: approve.Always}
	g := newGate(t, approve.Options{Project: "/p", Remember: failing}, p)
	for n := range 2 {
		if err := g.Check(t.Context(), command("ls")); err == nil || !strings.Contains(err.Error(), "disk full") || len(p.asked) != n+1 {
			t.Errorf("time %d: an answer that cannot be kept gives %v after %d questions", n+1, err, len(p.asked))
		}
	}
}

// The rule that the answer "always" would keep, as a person reads it; "" if that answer is not offered.
func TestOffers(t *testing.T) {
	dir := project(t)
	for line, want := range map[string]string{
		"go test ./...": "go test", "git log -3": "git log", "npm run build -- x": "npm run build", "make test": "make test", "ls -l": "ls", "python3 greet.py x": "python3 greet.py",
		"python3 -m pytest -q": "python3 -m pytest", "cd sub && go vet ./... | tail": "go vet, tail", "ls; ls -l": "ls",
		"make": "", "rm x": "", "git -C x log": "", "python3 -c 'x'": "", "bash -c ls": "", "sudo ls": "", "xargs ls": "", "env ls": "", "npx x": "", "curl x": "", "flock x ls": "", "uv run bash -c x": "", "npm exec env x": "", "npm x cowsay": "npm x cowsay", "X=1 ls": "", "ls > x": "",
		"ls $(rm x)": "", "$X": "", "cd .. && ls": "", "cd out && ls": "", "ls )": "", "ls; rm x": "", "'a b' c": "", "cd sub && git log": "",
	} {
		p := &person{decision: approve.Once}
		if err := newGate(t, approve.Options{Project: dir}, p).Check(t.Context(), command(line)); err != nil || len(p.asked) != 1 || p.asked[0].Rule != want {
			t.Errorf("%q: %v, offers %q, want %q", line, err, p.asked[0].Rule, want)
		}
	}
	p := &person{decision: approve.Session}
	g := newGate(t, approve.Options{Project: dir}, p)
	for _, c := range []approve.Call{write("fs.edit", "a"), write("fs.edit", "b"), {Session: "s", Tool: "web.fetch", Preview: hooks.Preview{Host: "example.org"}}, {Session: "s", Tool: "x.y", Arguments: json.RawMessage(`{"a":1}`)}} {
		if err := g.Check(t.Context(), c); err != nil {
			t.Error(err)
		}
	}
	if len(p.asked) != 3 || p.asked[0].Rule != "fs.edit" || p.asked[0].Diff == "" || p.asked[1].Rule != "web.fetch(example.org)" || p.asked[2].Command != "{\n  \"a\": 1\n}" {
		t.Errorf("the questions are %+v", p.asked)
	}
}

// Rules for files have patterns for paths.
func TestFiles(t *testing.T) {
	g := newGate(t, approve.Options{Project: "/p", Allow: []string{"fs.write(docs/**)", "fs.write(*.md)", "fs.edit(src/*/x.go) in /other"}}, nil)
	for path, want := range map[string]bool{"docs/a": true, "docs/a/b.go": true, "x.md": true, "a/x.md": false, "docsx/a": false, "src/a/x.go": false} {
		if err := g.Check(t.Context(), write("fs.write", path)); (err == nil) != want {
			t.Errorf("writing %s gives %v, want allowed: %v", path, err, want)
		}
	}
	linked := write("fs.write", "src/a.go") // which docs/link leads to
	linked.Preview.Named = "docs/link"
	if err := g.Check(t.Context(), linked); err == nil {
		t.Error("a link into another folder is allowed")
	}
	if err := g.Check(t.Context(), write("fs.edit", "src/a/x.go")); err == nil {
		t.Error("a rule of another project counts")
	}
}

// Calls that need an answer are asked about one after the other, and an answer counts for the calls that wait.
func TestOneQuestionAtATime(t *testing.T) {
	p := &person{decision: approve.Session}
	g := newGate(t, approve.Options{Project: "/p"}, p)
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() {
			if err := g.Check(t.Context(), command("go test ./...")); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if len(p.asked) != 1 {
		t.Errorf("%d questions, want 1", len(p.asked))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := g.Check(ctx, command("ls")); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the turn, a call gives %v", err)
	}
}

// A hard link to a file does not get around a rule about it.
func TestHardLinks(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{".env", "secret/deep/key", "free"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Link(path, filepath.Join(dir, "link-to-"+filepath.Base(name))); err != nil {
			t.Skip(err)
		}
	}
	g := newGate(t, approve.Options{Mode: approve.ModeAuto, Project: dir, Deny: []string{"fs.*(.env)", "fs.*(secret/**)"}}, nil)
	for name, denied := range map[string]bool{"link-to-.env": true, "link-to-key": true, "link-to-free": false, "free": false, "new": false} {
		err := g.Check(t.Context(), approve.Call{Tool: "fs.read", Reads: true, Preview: hooks.Preview{Path: name, Named: name}})
		if (err != nil) != denied {
			t.Errorf("%s: %v, want denied: %v", name, err, denied)
		}
	}
}
