package tools

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tape/hooks"
)

// How long a command may run that is not in the background, by default and at most.
const (
	defaultSeconds = 120
	maxSeconds     = 3600
)

// How many commands a session may have running in the background, and how many of its ended ones are kept.
const (
	maxRunning = 16
	maxEnded   = 16
)

// shell is a command, running or ended.
type shell struct {
	id, session string
	confined    bool
	cmd         *exec.Cmd
	out         *output
	began       time.Time
	done        chan struct{}
}

// state returns "running" or "exited", and the exit code as code does; "null" while it runs.
func (s *shell) state() (status, code string) {
	select {
	case <-s.done:
		return "exited", s.code()
	default:
		return "running", "null"
	}
}

// code returns the exit code, or names the signal that ended the command.
func (s *shell) code() string {
	if s.cmd.ProcessState.Exited() {
		return fmt.Sprint(s.cmd.ProcessState.ExitCode())
	}
	return s.cmd.ProcessState.String()
}

// shells runs a host's commands, and keeps those in the background.
type shells struct {
	dir      string
	env      func() []string
	watchdog *watchdog
	confine  func(cmd *exec.Cmd) error // nil: commands are not confined
	settle   func(ended bool) error    // called after a confined command, and before something of one is shown; may be nil
	mu       sync.Mutex
	all      map[string]*shell // in the background, by id
}

// start starts a command line. A line that a person has typed is not confined.
func (s *shells) start(line, dir string, c hooks.ToolContext) (*shell, error) {
	if strings.ContainsRune(line, 0) {
		return nil, errors.New("a command cannot have a NUL byte")
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("cwd: there is no folder %s", clip(dir, 300))
	}
	name, err := exec.LookPath("bash")
	if err != nil {
		if name, err = exec.LookPath("sh"); err != nil {
			return nil, errors.New("there is neither bash nor sh in PATH")
		}
	}
	cmd := &exec.Cmd{Path: name, Args: []string{filepath.Base(name), "-c", line}, Dir: dir, Env: s.env()}
	confined := s.confine != nil && !c.Typed
	if confined {
		if err := s.confine(cmd); err != nil {
			return nil, fmt.Errorf("the command is not run, because it cannot be confined: %w", err)
		}
	}
	sh := &shell{cmd: cmd, session: c.Session, confined: confined, out: &output{}, began: time.Now(), done: make(chan struct{})}
	r, w, err := os.Pipe()
	if err == nil {
		cmd.Stdout, cmd.Stderr = w, w
		err = s.watchdog.start(sh.cmd)
		_ = w.Close()
		if err != nil {
			_ = r.Close()
		}
	}
	if err != nil {
		s.check(sh, true)
		return nil, fmt.Errorf("start the command: %w", err)
	}
	go s.wait(sh, r)
	return sh, nil
}

// check undoes what confined commands did so that git would run something, and adds words about it to the output.
func (s *shells) check(sh *shell, ended bool) {
	if !sh.confined || s.settle == nil {
		return
	}
	if err := s.settle(ended); err != nil {
		_, _ = fmt.Fprintf(sh.out, "\n[tape: %v]\n", err) // writing to memory does not fail
	}
}

// leftOver is how long to wait for output after a command has ended: a daemon may hold it open.
const leftOver = 500 * time.Millisecond

// wait reads a command's output from r until the command has ended, and then closes sh.done.
func (s *shells) wait(sh *shell, r *os.File) {
	read := make(chan struct{})
	go func() {
		defer close(read)
		// An error ends the output, too.
		_, _ = io.Copy(sh.out, r)
	}()
	_ = sh.cmd.Wait() // ProcessState says how it ended
	s.watchdog.ended(sh.cmd)
	select {
	case <-read:
	case <-time.After(leftOver):
	}
	_ = r.Close()
	<-read
	s.check(sh, true)
	close(sh.done)
}

// place returns the folder in which a command runs.
func (s *shells) place(cwd string) string {
	if filepath.IsAbs(cwd) {
		return cwd
	}
	return filepath.Join(s.dir, cwd)
}

type bashArgs struct {
	Cmd        string `json:"cmd"`
	Cwd        string `json:"cwd"`
	Seconds    int    `json:"timeout_seconds"`
	Background bool   `json:"background"`
}

func (s *shells) bash(ctx context.Context, c hooks.ToolContext, a bashArgs) (string, error) {
	if a.Background {
		if err := s.checkRoom(c.Session); err != nil {
			return "", err
		}
	}
	sh, err := s.start(a.Cmd, s.place(a.Cwd), c)
	if err != nil {
		return "", err
	}
	if a.Background {
		return s.keep(sh), nil
	}
	limit := time.Duration(a.Seconds) * time.Second
	if limit == 0 {
		limit = defaultSeconds * time.Second
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	defer follow(sh, c.Output)()
	select {
	case <-sh.done:
	case <-ctx.Done():
		end(sh.cmd, sh.done)
		return "", fmt.Errorf("interrupted after %s\noutput:\n%s", time.Since(sh.began).Round(time.Millisecond), written(sh))
	case <-timer.C:
		end(sh.cmd, sh.done)
		return "", fmt.Errorf("the command was ended after %s; raise timeout_seconds, or use background=true\noutput:\n%s", limit, written(sh))
	}
	if code := sh.code(); code != "0" {
		return "", fmt.Errorf("exit code %s\noutput:\n%s", code, written(sh))
	}
	return written(sh), nil
}

// A running command's output is shown a few times in a second: its last bytes.
const (
	showEvery = 100 * time.Millisecond
	shownEnd  = 4 << 10
)

// follow shows what a command writes until stop is called.
func follow(sh *shell, show func(end string, bytes int64)) (stop func()) {
	if show == nil {
		return func() {}
	}
	over := make(chan struct{})
	var shower sync.WaitGroup
	shower.Go(func() {
		tick := time.NewTicker(showEvery)
		defer tick.Stop()
		shown := int64(0)
		for {
			select {
			case <-over:
				return
			case <-tick.C:
				if end, size := sh.out.end(shownEnd); size != shown {
					shown = size
					show(end, size)
				}
			}
		}
	})
	return func() {
		close(over)
		shower.Wait()
	}
}

// written returns what a command wrote, as far as it was kept.
func written(sh *shell) string {
	text := strings.TrimRight(sh.out.all(), " \t\r\n")
	if text == "" {
		return "(no output)"
	}
	return text
}

// checkRoom returns an error if a session has maxRunning commands in the background.
func (s *shells) checkRoom(session string) error {
	running := s.ids(func(sh *shell) bool { status, _ := sh.state(); return sh.session == session && status == "running" })
	if len(running) >= maxRunning {
		return fmt.Errorf("%d commands run in the background already: end one with bash.kill (%s)", len(running), strings.Join(running, ", "))
	}
	return nil
}

// keep puts a command into the background, and forgets the oldest ended ones: of the session above maxEnded, and of
// all sessions above eight times as many.
func (s *shells) keep(sh *shell) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	sh.id = "bash-" + strings.ToLower(rand.Text()[:8])
	s.all[sh.id] = sh
	var all []*shell // that have ended
	for _, old := range s.all {
		if status, _ := old.state(); status != "running" {
			all = append(all, old)
		}
	}
	slices.SortFunc(all, func(a, b *shell) int { return a.began.Compare(b.began) })
	own := slices.DeleteFunc(slices.Clone(all), func(old *shell) bool { return old.session != sh.session })
	for _, old := range slices.Concat(own[:max(0, len(own)-maxEnded)], all[:max(0, len(all)-8*maxEnded)]) {
		delete(s.all, old.id)
	}
	return fmt.Sprintf("started: %s\nread what it writes with bash.output, end it with bash.kill", sh.id)
}

// ids returns the ids of the background commands for which match returns true, sorted.
func (s *shells) ids(match func(*shell) bool) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for id, sh := range s.all {
		if match(sh) {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// get returns a session's background command. The error lists the ids that there are.
func (s *shells) get(session, id string) (*shell, error) {
	s.mu.Lock()
	sh := s.all[id]
	s.mu.Unlock()
	if sh == nil || sh.session != session {
		ids := s.ids(func(sh *shell) bool { return sh.session == session })
		if len(ids) == 0 {
			ids = []string{"none"}
		}
		return nil, fmt.Errorf("no command in the background is called %q; there are: %s", clip(id, 100), strings.Join(ids, ", "))
	}
	return sh, nil
}

type outputArgs struct {
	ID     string `json:"shell_id"`
	Offset int64  `json:"offset"`
	Limit  int    `json:"limit"`
}

func (s *shells) output(_ context.Context, c hooks.ToolContext, a outputArgs) (string, error) {
	sh, err := s.get(c.Session, a.ID)
	if err != nil {
		return "", err
	}
	status, code := sh.state()
	if status == "running" {
		s.check(sh, false)
	}
	if a.Limit <= 0 {
		a.Limit = pageBytes
	}
	text, next := sh.out.from(max(0, a.Offset), min(a.Limit, pageBytes))
	if text == "" {
		text = "(no output)"
	}
	return fmt.Sprintf("id: %s\nstatus: %s\nexit_code: %s\nnext_offset: %d\noutput:\n%s", sh.id, status, code, next, text), nil
}

type killArgs struct {
	ID string `json:"shell_id"`
}

func (s *shells) kill(_ context.Context, c hooks.ToolContext, a killArgs) (string, error) {
	sh, err := s.get(c.Session, a.ID)
	if err != nil {
		return "", err
	}
	end(sh.cmd, sh.done)
	status, code := sh.state()
	return fmt.Sprintf("id: %s\nstatus: %s\nexit_code: %s", sh.id, status, code), nil
}

// stop ends the background commands for which match returns true, and forgets them.
func (s *shells) stop(match func(*shell) bool) {
	s.mu.Lock()
	var chosen []*shell
	for id, sh := range s.all {
		if match(sh) {
			chosen = append(chosen, sh)
			delete(s.all, id)
		}
	}
	s.mu.Unlock()
	var wait sync.WaitGroup
	for _, sh := range chosen {
		wait.Go(func() { end(sh.cmd, sh.done) })
	}
	wait.Wait()
}

func (s *shells) tools() []hooks.Tool {
	id := `"shell_id":{"type":"string","description":"as bash gave it"}`
	return []hooks.Tool{
		definePreviewed("bash", "Run a shell command in the project. It has no terminal and no input, and what it leaves running ends with it; "+
			"background=true keeps it running: read its output later with bash.output.",
			`"cmd":{"type":"string","minLength":1},"cwd":{"type":"string","description":"default the project"},`+
				fmt.Sprintf(`"timeout_seconds":{"type":"integer","minimum":1,"maximum":%d,"description":"default %d"},`, maxSeconds, defaultSeconds)+
				`"background":{"type":"boolean"}`, []string{"cmd"}, s.preview, s.bash),
		define("bash.output", "Read what a command in the background has written.",
			id+`,"offset":{"type":"integer","minimum":0,"description":"next_offset of the call before"},"limit":{"type":"integer","minimum":1,"description":"bytes"}`,
			[]string{"shell_id"}, s.output),
		define("bash.kill", "End a command in the background.", id, []string{"shell_id"}, s.kill),
	}
}
