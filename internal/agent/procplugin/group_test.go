//go:build unix

package procplugin

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"tape/internal/testkit"
)

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

func TestPluginThatIgnoresExitIsKilledWithItsChildren(t *testing.T) {
	t.Parallel()
	child := temp(t, "child")
	p := scripted(t, script{Stubborn: true, Child: child, Answers: map[string]reply{resolve: {Do: "pid"}}}, Options{})
	raw := seen(t, child)
	pid, err := strconv.Atoi(raw)
	if err != nil || !alive(pid) {
		t.Fatalf("the child %q does not run: %v", raw, err)
	}
	p.Close()
	testkit.Until(t, "the end of its child", func() bool {
		state, _ := os.ReadFile("/proc/" + raw + "/stat")
		return !alive(pid) || strings.Contains(string(state), ") Z ")
	})
}
