//go:build unix

package procplugin

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

func TestWhoIgnoresExitIsEndedWithItsChildren(t *testing.T) {
	t.Parallel()
	child := temp(t, "child")
	p := scripted(t, script{Stubborn: true, Child: child, Answers: map[string]reply{resolve: {Do: "pid"}}}, Options{})
	raw := seen(t, child)
	pid, err := strconv.Atoi(raw)
	if err != nil || !alive(pid) {
		t.Fatal(raw, err)
	}
	p.Close()
	for range 500 {
		state, _ := os.ReadFile("/proc/" + raw + "/stat")
		if !alive(pid) || strings.Contains(string(state), ") Z ") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("its child still runs")
}
