//go:build unix && extra

package agentstest

import (
	"bytes"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"tape/cmd/internal/agentstest/model"
	"tape/internal/testkit"
)

// slow is a session that takes a few seconds, so that a fault can happen in it.
func slow(agent) model.Script {
	script := model.Script{"go on now": {{Text: "It goes on."}}, "later that day": {{Text: "It is late."}}}
	var steps []model.Step
	for _, word := range []string{"one", "two", "three", "four"} {
		steps = append(steps, model.Step{Pause: 30 * time.Millisecond, Text: "This is step " + word + ", said slowly, in pieces, so that something can come between.",
			Calls: []model.Call{shell("sleep 0.3; echo done-" + word), shell("echo beside-" + word)}})
	}
	script["take your time"] = append(steps, model.Step{Text: "That took a while."})
	return script
}

// kills is how often killedAgent kills the agent.
const kills = 4

// killedAgent kills the agent at random moments, and goes on with the last session. No hook reports that
// the other sessions have ended: tape finds that out when another session starts. What an agent had
// written is on the tape; what it had not written is lost.
func (b *box) killedAgent() {
	for range kills {
		cmd := b.begin("take your time")
		moment := b.agent.awake + time.Duration(rand.IntN(3000))*time.Millisecond
		b.t.Logf("killed after %v", moment)
		testkit.Pause(moment)
		b.kill(cmd)
	}
	b.goOn("go on now")
	b.later()
	b.ask("later that day")
	b.same()
	b.compare(true)
}

// later dates all files that agents and tape have written about sessions two hours back.
func (b *box) later() {
	b.t.Helper()
	for _, dir := range []string{".claude/projects", ".cline/data/sessions", ".copilot/session-state", ".codex/sessions", ".gemini/tmp", ".qwen/projects", ".pi/agent/sessions", ".kimi-code/sessions", ".grok/sessions", ".tape/.recording"} {
		err := filepath.WalkDir(filepath.Join(b.home, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil //nolint:nilerr // the folder is another agent's, or tape has just removed the note
			}
			old := time.Now().Add(-2 * time.Hour)
			return os.Chtimes(path, old, old)
		})
		b.must(err)
	}
}

// killedHook kills processes of tape for as long as a prompt takes. The next event brings back what was
// lost.
func (b *box) killedHook() {
	n := 0
	for i := 0; n == 0 && i < 3; i++ { // few hooks may all be too quick
		stop, done := make(chan bool), make(chan int)
		go func() { done <- b.hunt(stop) }()
		b.ask("take your time")
		close(stop)
		n = <-done
	}
	b.goOn("go on now")
	b.proved()
	b.t.Logf("%d processes of tape were killed", n)
	if n == 0 {
		b.fatalf("tape was never seen running")
	}
}

// hunt kills two of three processes of this box's tape until it is stopped, and returns how many it killed.
func (b *box) hunt(stop <-chan bool) (killed int) {
	spared := map[int]bool{}
	for {
		select {
		case <-stop:
			return killed
		case <-time.After(time.Duration(rand.IntN(8)) * time.Millisecond):
		}
		for _, pid := range b.running() {
			if spared[pid] || rand.IntN(3) == 0 {
				spared[pid] = true
			} else if syscall.Kill(pid, syscall.SIGKILL) == nil {
				killed++
			}
		}
	}
}

// running returns the processes of this box's tape.
func (b *box) running() []int {
	links, _ := filepath.Glob("/proc/[0-9]*/exe") // the pattern is well formed
	var out []int
	for _, link := range links {
		if program, err := os.Readlink(link); err == nil && strings.HasPrefix(program, b.bin) {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(link))); err == nil {
				out = append(out, pid)
			}
		}
	}
	return out
}

// missing takes the hook's program away: the agent must not notice.
func (b *box) missing() {
	b.must(os.Rename(b.bin, b.bin+"-away"))
	said := b.ask("say hello")
	if !strings.Contains(said, "It said hello-from-tool.") {
		b.fatalf("without tape, the agent does not answer as usual, but says: %s", said)
	}
	b.must(os.Rename(b.bin+"-away", b.bin))
	b.goOn("three things")
	b.proved()
}

// fullDisk puts everything that tape stores on a disk that is full during one prompt.
func (b *box) fullDisk() {
	if os.Getuid() != 0 {
		b.skip("only root can mount a small disk")
	}
	disk := filepath.Join(b.home, ".tape")
	b.must(os.MkdirAll(disk, 0o700))
	if err := mount(disk); err != nil {
		b.skip("a small disk cannot be mounted: " + err.Error())
	}
	b.t.Cleanup(func() { b.must(unmount(disk)) })
	b.ask("say hello")
	b.proved()
	filler := filepath.Join(disk, "filler")
	fill(filler)
	said := b.goOn("three things")
	if !strings.Contains(said, "All three are done.") {
		b.fatalf("with a full disk, the agent does not answer as usual, but says: %s", said)
	}
	testkit.Pause(3 * time.Second) // the process that catches up fails, too
	status := b.status()
	b.must(os.Remove(filler))
	b.goOn("go on now")
	b.proved()
	if !strings.Contains(status, "no space left") {
		b.fatalf("tape record status does not report the full disk: %s", status)
	}
}

// fill writes a file until the disk is full.
func fill(path string) {
	f, err := os.Create(path)
	for chunk := bytes.Repeat([]byte("x"), 4096); err == nil; {
		_, err = f.Write(chunk)
	}
	f.Close()
}

// status returns what tape record status prints, even if it fails.
func (b *box) status() string {
	b.t.Helper()
	var out bytes.Buffer
	_ = b.start(&out, filepath.Join(b.bin, "tape"), "record", "status", "--json").Wait()
	return out.String()
}
