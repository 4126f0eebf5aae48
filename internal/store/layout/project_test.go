package layout_test

import (
	"testing"

	"tape/internal/store/layout"
)

// The path of a worktree that is gone still shows its project.
func TestProjectPath(t *testing.T) {
	t.Parallel()
	for dir, want := range map[string]string{
		"/home/ada/src/shop":                       "/home/ada/src/shop",
		"/home/ada/src/shop/.worktrees/fix-95":     "/home/ada/src/shop",
		"/home/ada/src/shop/.worktrees/fix/login":  "/home/ada/src/shop",
		"/home/ada/src/shop/.claude/worktrees/fix": "/home/ada/src/shop",
		"/home/ada/shop/.worktrees/fix/login":      "/home/ada/shop",
		"/home/ada/src/shop/worktrees/fix":         "/home/ada/src/shop",
		"/home/ada/src/worktrees/shop/fix":         "/home/ada/src/worktrees/shop",
		"/home/ada/.agent/worktrees/shop/fix":      "/home/ada/.agent/worktrees/shop",
		"/home/ada/src/shop-worktrees/fix":         "/home/ada/src/shop",
		"/home/ada/src/shop.worktrees/fix":         "/home/ada/src/shop",
		"/home/ada/src/shop/1":                     "/home/ada/src/shop",
		"/home/ada/src/shop/12/":                   "/home/ada/src/shop",
		"/home/ada/src/shop2":                      "/home/ada/src/shop2",
		"/home/ada/src/worktrees":                  "/home/ada/src/worktrees",
		`C:\src\shop\.worktrees\fix`:               `C:\src\shop`,
		"/1":                                       "/1",
		"/":                                        "/",
		"":                                         "",
	} {
		if got := layout.ProjectPath(dir); got != want {
			t.Errorf("the project of %s is %s, want %s", dir, got, want)
		}
	}
}
