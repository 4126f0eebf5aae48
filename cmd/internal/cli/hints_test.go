package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tape/internal/store/layout"
	"tape/repo"
)

// kinds reads which kinds of hints there are.
func kinds(t *testing.T) map[layout.HintKind]bool {
	file, err := parser.ParseFile(token.NewFileSet(), "../../../internal/store/layout/hint.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := map[layout.HintKind]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 {
			text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil || out[layout.HintKind(text)] {
				t.Errorf("the kind %s: %v, or there are two of it", spec.Names[0], err)
			}
			out[layout.HintKind(text)] = true
		}
		return true
	})
	return out
}

func TestEachKindOfHintHasWords(t *testing.T) {
	known, words := kinds(t), hintWords()
	if len(known) < 50 || len(known) != len(words) {
		t.Errorf("%d kinds, and words for %d", len(known), len(words))
	}
	args := []string{"a b", "c", "d", "@4", "e"}
	for kind := range known {
		text := hintText(repo.Hint{Kind: kind, Args: args})
		if words[kind] == "" || strings.ContainsAny(text, "{}") || strings.Contains(words[kind], "{1}") && !strings.Contains(text, "'a b'") {
			t.Errorf("%s: %q", kind, text)
		}
	}
}

func TestWordsOfHints(t *testing.T) {
	for _, c := range []struct {
		kind layout.HintKind
		args []string
		want string
	}{
		{"", nil, ""},
		{layout.ListTapes, []string{"it's {1}"}, `tape tapes lists them; tape new 'it'\''s {1}' creates it`},
		{layout.PullThenPush, []string{"origin"}, "run tape pull, which brings both together, then push again"},
		{layout.PullThenPush, []string{"team mate"}, "run tape pull 'team mate', which brings both together, then push again"},
		{layout.PurgeOrAllow, []string{"f", "a b", "c"}, "nothing was sent; if it is a secret, revoke it and remove it with: " +
			"tape purge --fingerprint f --tape 'a b'; if it is not one: --allow-secret f; tapes without secrets can be pushed before that: --tape c"},
		{layout.PurgeOrAllow, []string{"f", "", ""}, "nothing was sent; if it is a secret, revoke it and remove it with: " +
			"tape purge --fingerprint f; if it is not one: --allow-secret f"},
		{layout.PurgeInClone, []string{"/w", "r", "t", "@1 @2", "f", "g"}, "purge the same in a fresh clone of it: tape clone \"$(git -C /w remote get-url r)\" fresh && " +
			"tape --workspace fresh --tape t purge @1 @2 --whole --fingerprint f --fingerprint g --yes\nthen run the commands that this prints, and tape pull here"},
		{layout.PurgeInClone, []string{"/w", "r", "t", "", "f"}, "purge the same in a fresh clone of it: tape clone \"$(git -C /w remote get-url r)\" fresh && " +
			"tape --workspace fresh --tape t purge --fingerprint f --yes\nthen run the commands that this prints, and tape pull here"},
	} {
		for range 2 { // the first leaves the hint as it is
			if got := hintText(repo.Hint{Kind: c.kind, Args: c.args}); got != c.want {
				t.Errorf("%s %q: %q, want %q", c.kind, c.args, got, c.want)
			}
		}
	}
	err := layout.Conflict("first", "no").Try(layout.CloseForks).Try(layout.RestoreLatest, "x")
	if got, want := hintOf(err), "first\nfirst merge or discard its forks\nif it was reset here, restore it with tape --tape x restore latest, then run tape pull"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The rooms leave commands to this package. What git and agents run, and have in their settings, calls
// the program; an exported page tells its readers, and warnings have no kinds.
func TestRoomsNameNoCommands(t *testing.T) {
	allowed := []string{"hooks/githooks/script.go", "internal/git/gitstore/hooksdir.go", "internal/git/gitstore/repo.go", "internal/store/workspace/gitsetup.go", "internal/show/export/markdown.go", "internal/store/forks/close.go", "internal/sessions/agents/hooks.go", "internal/store/remotes/fetch.go"}
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	named := regexp.MustCompile(`\btape (` + strings.Join(names, "|") + `)\b`)
	for _, room := range []string{"internal", "repo", "merge", "hooks", "index"} {
		err := filepath.WalkDir("../../../"+room, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || slices.Contains(allowed, filepath.ToSlash(path)[len("../../../"):]) {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && named.MatchString(lit.Value) {
					t.Errorf("%s: %s", path, lit.Value)
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
