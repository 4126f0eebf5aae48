package layout

import (
	"slices"
	"strings"
)

// ProjectPath guesses a project's directory from the path of one of its git worktrees, by where programs
// usually put them. It returns any other path unchanged. It is for directories that are gone: for others,
// git knows the project.
//
//	shop/.worktrees/fix  shop/.claude/worktrees/fix  shop-worktrees/fix  worktrees/shop/fix  shop/2
func ProjectPath(dir string) string {
	rest := strings.ReplaceAll(dir, `\`, "/")
	parts := strings.Split(strings.TrimRight(rest, "/"), "/")
	hidden := func(part string) bool { return strings.HasPrefix(part, ".") && len(part) > 1 }
	for i, part := range slices.Backward(parts) {
		left, found := strings.CutSuffix(part, "worktrees")
		if !found || i == 0 || i == len(parts)-1 {
			continue
		}
		behind := len(parts) - 1 - i
		switch left = strings.TrimRight(left, "-_."); {
		case left != "": // shop-worktrees
			parts = append(parts[:i:i], left)
		case behind > 1 && part == "worktrees" && (!hidden(parts[i-1]) || isHome(parts[:i-1])):
			parts = parts[:i+2] // worktrees/shop/fix, ~/.agent/worktrees/shop/fix
		case hidden(parts[i-1]) && part == "worktrees":
			parts = parts[:i-1]
		default:
			parts = parts[:i]
		}
		break
	}
	for len(parts) > 2 && strings.Trim(parts[len(parts)-1], "0123456789") == "" {
		parts = parts[:len(parts)-1]
	}
	if n := len(strings.Join(parts, "/")); n > 0 {
		return dir[:n]
	}
	return dir
}

// isHome reports whether a path looks like somebody's home directory.
func isHome(parts []string) bool {
	return len(parts) == 3 && (parts[1] == "home" || parts[1] == "Users") || len(parts) == 2 && parts[1] == "root"
}
