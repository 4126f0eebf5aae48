package cli

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"tape/internal/sessions/catalog"
	"tape/internal/store/layout"
	"tape/repo"
)

type completer = func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective)

func completeFlag(cmd *cobra.Command, flag string, f completer) {
	if err := cmd.RegisterFlagCompletionFunc(flag, f); err != nil {
		panic(err) // the flag does not exist
	}
}

// completeFlags completes the flags that mean the same in all commands.
func (a *App) completeFlags(cmd *cobra.Command) {
	anchors, kinds := a.completeAnchors(), completeWords(layout.KnownKinds()...)
	for flag, f := range map[string]completer{"anchor": anchors, "after": anchors, "at": anchors, "from": anchors, "to": anchors,
		"kind": kinds, "role": completeWords(layout.KnownRoles()...), "tape": a.completeTapes()} {
		if cmd.Flags().Lookup(flag) != nil {
			completeFlag(cmd, flag, f)
		}
	}
}

func completeWords(words ...string) completer {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeNames offers recorded names. Errors are ignored.
func completeNames(names func(ctx context.Context) ([]string, error)) completer {
	return func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		list, _ := names(cmd.Context())
		return slices.DeleteFunc(list, func(name string) bool { return !offers(name, prefix) }), cobra.ShellCompDirectiveNoFileComp
	}
}

// upTo completes the first n arguments, and nothing after them.
func upTo(n int, f completer) completer { return before(n, f, cobra.ShellCompDirectiveNoFileComp) }

// before completes the first n arguments; after them, the shell follows the directive.
func before(n int, f completer, after cobra.ShellCompDirective) completer {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= n {
			return nil, after
		}
		return f(cmd, args, prefix)
	}
}

func (a *App) completeTapes() completer {
	return completeListed(a.openStore, func(store *repo.Store, ctx context.Context) ([]*repo.Tape, error) {
		return catalog.All(ctx, store)
	}, (*repo.Tape).Name)
}

func (a *App) completeAnchors() completer {
	return completeListed(a.openTape, func(t *repo.Tape, ctx context.Context) ([]repo.Phase, error) {
		phases, err := t.Phases(ctx)
		if err != nil {
			return nil, err
		}
		return append([]repo.Phase{{Name: repo.Latest}}, phases...), nil
	}, func(p repo.Phase) string { return p.Name })
}

func (a *App) completeRemotes() completer {
	return completeListed(a.openStore, (*repo.Store).Remotes, func(r repo.Remote) string { return r.Name })
}

func completeListed[S, T any](open func(context.Context) (S, error), list func(S, context.Context) ([]T, error), name func(T) string) completer {
	return completeNames(func(ctx context.Context) ([]string, error) {
		source, err := open(ctx)
		if err != nil {
			return nil, err
		}
		items, err := list(source, ctx)
		return namesOf(items, name), err
	})
}

func namesOf[T any](list []T, name func(T) string) []string {
	var out []string
	for _, item := range list {
		out = append(out, name(item))
	}
	return out
}
