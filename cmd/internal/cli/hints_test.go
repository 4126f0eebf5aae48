package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The rooms leave the names of commands to this package, which has the words of hints. Exceptions: files that git
// and agents run, or have in their settings; exported and published pages, the web view, and a team's server, which tell their
// readers which command to use; warnings, what is said of damage, and errors of models' servers, which have no kind of
// hint.
func TestRoomsNameNoCommands(t *testing.T) {
	allowed := []string{"hooks/githooks/script.go", "internal/git/gitstore/hooksdir.go", "internal/git/gitstore/repo.go", "internal/store/workspace/gitsetup.go", "internal/show/export/markdown.go", "internal/store/forks/close.go", "internal/sessions/agents/hooks.go", "internal/sessions/agents/plugin.go", "internal/store/remotes/fetch.go", "internal/serve/mcpserver/search.go", "internal/serve/mcpserver/readteam.go", "internal/serve/web/local.go", "internal/show/export/render.go", "internal/agent/models/overflow.go",
		"internal/agent/models/failure.go", "internal/agent/models/http.go", "internal/store/audit/fsck.go", "internal/store/audit/verify.go", "internal/store/audit/verify_tree.go", "internal/store/layout/errors.go",
		"internal/store/upkeep/gc.go", "internal/store/workspace/leftout.go", "internal/store/workspace/sign.go", "internal/store/remotes/remote.go"}
	folders := []string{"internal/show/site/", "internal/serve/team/"}
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	named := regexp.MustCompile(`\btape (` + strings.Join(names, "|") + `)\b`)
	for _, room := range []string{"internal", "repo", "merge", "hooks", "index"} {
		err := filepath.WalkDir("../../../"+room, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			name := filepath.ToSlash(path)[len("../../../"):]
			if slices.Contains(allowed, name) || slices.ContainsFunc(folders, func(f string) bool { return strings.HasPrefix(name, f) }) {
				return nil
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && named.MatchString(lit.Value) {
					t.Errorf("%s names a command: %s", path, lit.Value)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}
