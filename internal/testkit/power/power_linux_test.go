//go:build extra

package power

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tape/internal/testkit"
)

func TestMain(m *testing.M) {
	if os.Getenv(testkit.HelperEnv) != "" {
		runFiltered() // before testkit.Main, which changes the environment
	}
	testkit.Main(m, nil, nil)
}

// maxKeptDisks is how many disks of failed cuts are kept.
const maxKeptDisks = 12

// TestPower cuts the power TAPE_SOAK_POWER times. TAPE_SEED repeats a run; with -run 'TestPower/^0123', only that cut
// is repeated.
func TestPower(t *testing.T) {
	text := os.Getenv("TAPE_SOAK_POWER")
	if text == "" {
		t.Skip("power cuts need root and take minutes: run make soak-power")
	}
	cuts, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("TAPE_SOAK_POWER: %v", err)
	}
	if os.Geteuid() != 0 {
		t.Skip("skipped: only root may mount the disk whose power is cut")
	}
	buildProgram(t)
	base := testkit.Random(t).Uint64()
	s, all := newSoak(t), scenarios()
	for n := range cuts {
		sc := all[n%len(all)]
		t.Run(fmt.Sprintf("%04d-%s", n, sc.name), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(base, uint64(n)))
			s.cut(t, sc, n/len(all), base, rng)
		})
	}
	for _, what := range slices.Sorted(maps.Keys(s.failed)) {
		t.Logf("%4d times %s", s.failed[what], what)
	}
}

// varying matches the words and numbers in which messages about the same failure differ.
var varying = regexp.MustCompile(`/[^ ]*/disk/|\b[0-9a-f]{40}\b|\bpid \d+|\bzq[a-z]+`)

// buildProgram builds tape and puts it in the PATH.
func buildProgram(t *testing.T) {
	dir := t.TempDir()
	build := exec.Command("go", "build", "-buildvcs=false", "-o", dir, "tape/cmd/tape")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, out)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// never is the number of an operation that is never reached.
const never = 1 << 30

// plan says when and how the power is cut.
type plan struct {
	options string
	at      int    // the operation before which it is cut; if there are fewer, it is cut after the last command
	syncAt  int    // the operation before which the kernel writes what it has cached
	flush   int    // what ext4 still writes before it stops
	beside  bool   // two other writers run at the same time
	what    string // the operation, in words
}

func (p plan) String() string {
	return fmt.Sprintf("mounted with %s, cut before operation %d (%s), flush %d, all written before operation %d, other writers: %v",
		p.options, p.at, p.what, p.flush, p.syncAt, p.beside)
}

// cut makes a world, cuts its power and checks what is left. The cuts of a scenario are spread evenly over its
// operations, however many cuts there are.
func (s *soak) cut(t *testing.T, sc scenario, visit int, base uint64, rng *rand.Rand) {
	ops, ok := s.ops[sc.name]
	if !ok {
		ops = s.uncut(t, sc)
		s.ops[sc.name] = ops
		t.Logf("%s has about %d operations", sc.name, ops)
	}
	p := &plan{options: mountOptions()[rng.IntN(3)], flush: [...]int{flushAll, flushJournal, flushJournal, flushNothing, flushNothing}[rng.IntN(5)]}
	const goldenRatio = 0.6180339887498949
	_, part := math.Modf(float64(base%1000)/1000 + float64(visit)*goldenRatio)
	p.at = 1 + int(part*float64(ops))
	if visit%4 == 3 {
		p.at = never
		p.flush = max(p.flush, flushJournal)
	}
	if rng.IntN(3) == 0 {
		p.syncAt = 1 + rng.IntN(min(p.at, ops))
	}
	p.beside = !sc.alone && rng.IntN(3) == 0
	s.runPlan(t, sc, p, rng)
}

// uncut cuts the power only after the last command of a scenario, and returns the number of operations.
func (s *soak) uncut(t *testing.T, sc scenario) int {
	p := &plan{options: mountOptions()[0], at: never, flush: flushAll}
	return s.runPlan(t, sc, p, rand.New(rand.NewPCG(1, 1)))
}

// runPlan runs a scenario once, with a cut as planned, and checks the workspace. It returns the number of operations
// before the cut.
func (s *soak) runPlan(t *testing.T, sc scenario, p *plan, rng *rand.Rand) (ops int) {
	w := s.world(t, "c")
	w.rng = rng
	left := ""
	defer func() {
		if w.disk.root != nil {
			if err := w.disk.unmount(); err != nil {
				t.Errorf("unmount: %v", err)
			}
		}
		if t.Failed() {
			s.failed[sc.name+": "+varying.ReplaceAllString(w.failure, "…")]++
			t.Logf("%v\nleft over:\n%s\nthe commands:\n%s", p, left, w.said.String())
			s.keep(t)
		}
	}()
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	do(w.disk.mount(p.options))
	if sc.setup != nil {
		w.script(w.workspace(), sc.setup)
		w.odd = w.oddFiles()
		do(w.disk.sync())
	}
	steps := sc.steps(w)
	ops, done := w.untilCut(steps, p)
	do(w.disk.unmount())
	do(copyImage(w.disk.image, filepath.Join(s.folder, "after")))
	do(w.disk.mount(p.options))
	left = w.leftovers()
	w.note("the power is back", 0, nil)
	w.reboot()
	w.check(sc, steps, done)
	return ops
}

// reboot simulates that process numbers are reused after a restart: half of the time, git's gc.pid gets the number
// of a process that exists.
func (w *world) reboot() {
	name := filepath.Join(w.workspace(), ".git", "gc.pid")
	raw, err := os.ReadFile(name)
	_, host, ok := strings.Cut(string(raw), " ")
	if err != nil || !ok || w.rng.IntN(2) == 0 {
		return
	}
	if err := os.WriteFile(name, []byte(strconv.Itoa(os.Getpid())+" "+host), 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.note("gc.pid now has the number of another process", 0, nil)
}

// untilCut runs the steps until the power is cut. It returns the number of operations, and whether all steps succeeded
// before the cut.
func (w *world) untilCut(steps []step, p *plan) (ops int, done bool) {
	w.t.Helper()
	stop := func() {}
	if p.beside {
		stop = w.beside()
	}
	off := func() {
		w.mu.Lock()
		w.off = true
		w.mu.Unlock()
		if err := w.disk.cut(p.flush); err != nil {
			w.t.Errorf("cut: %v", err)
		}
	}
	tr := &trace{below: w.disk.dir}
	tr.before = func(n int, what string) {
		if n == p.syncAt {
			_ = w.disk.sync()
		}
		if n == p.at {
			p.what = what
			off()
			tr.kill()
		}
	}
	defer stop()
	for _, s := range steps {
		if s.begin != nil {
			s.begin()
		}
		code := w.traced(tr, s)
		if tr.killed {
			stop()
			tr.wait()
			return tr.ops, false
		}
		if code != 0 {
			w.fail("failed before the cut: tape %s: exit code %d\n%s", strings.Join(s.args, " "), code, w.last)
		}
		w.acknowledged(s)
	}
	p.what = "none, all commands had succeeded"
	off()
	return tr.ops, true
}

// traced runs one step under the tracer. Its output is not on the disk that loses power.
func (w *world) traced(tr *trace, s step) int {
	w.t.Helper()
	path, err := exec.LookPath("tape")
	if err != nil {
		w.t.Fatal(err)
	}
	input, output := filepath.Join(w.out, "input"), filepath.Join(w.out, "output")
	if err := os.WriteFile(input, []byte(s.stdin), 0o600); err != nil {
		w.t.Fatal(err)
	}
	in, err := os.Open(input)
	if err != nil {
		w.t.Fatal(err)
	}
	defer in.Close()
	out, err := os.Create(output)
	if err != nil {
		w.t.Fatal(err)
	}
	defer out.Close()
	code, err := tr.run(spec{path: path, args: append([]string{"tape"}, s.args...), env: w.env(), dir: w.out, stdin: in, output: out})
	if err != nil {
		w.t.Fatalf("trace: %v", err)
	}
	said, _ := os.ReadFile(output)
	w.note("(until the cut) tape "+strings.Join(s.args, " "), code, said)
	return code
}

// keep copies the disk of a failed test, as it was after the cut, to a folder that stays.
func (s *soak) keep(t *testing.T) {
	folder := filepath.Join(os.TempDir(), "tape-power-"+strings.ReplaceAll(filepath.Base(t.Name()), "/", "-"))
	if all, _ := filepath.Glob(filepath.Join(os.TempDir(), "tape-power-*")); len(all) >= maxKeptDisks {
		t.Logf("the disk is not kept: there are %d already in %s", maxKeptDisks, os.TempDir())
		return
	}
	if err := os.RemoveAll(folder); err != nil {
		t.Log(err)
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Log(err)
		return
	}
	if err := copyImage(filepath.Join(s.folder, "after"), filepath.Join(folder, "after-cut.img")); err != nil {
		t.Log(err)
	}
	t.Logf("the disk after the cut: mount -o loop %s DIR", filepath.Join(folder, "after-cut.img"))
}
