package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tape/repo"
	"tape/repo/view"
)

type contextOptions struct {
	app *App

	from                string
	noAnchor, raw       bool
	format              string
	maxTokens, maxBytes int
	tail                int
	system              bool

	changed func(flag string) bool
}

func newContextCmd(a *App) *cobra.Command { return newContextCmdFor(&contextOptions{app: a}) }

func newContextCmdFor(o *contextOptions) *cobra.Command {
	a := o.app
	cmd := &cobra.Command{
		Use:   "context [--from ANCHOR] [--format FORMAT] [--max-tokens N] [flags]",
		Short: "Write the messages for the next model call",
		Long: `Write what a model needs for its next call as one JSON array of messages: the last
anchor with its state, then what followed it. Nothing before that anchor is read.

The array is one that the provider accepts. Results stand behind their calls; a call
without a result gets one that says it was interrupted, and a result without its call
becomes a message that says so. A system message that comes again is kept once. Entries
of kind system, event and error are left out, as is everything with context:false in
meta. With --raw nothing is mended: each entry gives its message, as it was recorded.

For anthropic, messages of the same side in a row are one message with several blocks,
anchors are told by the user, and system messages are not in the array: --system writes
them, as the array of text blocks that the parameter system takes.

--max-tokens and --max-bytes leave out the oldest turns, --tail all but the last ones.
A turn begins with a message of the user; the opening anchor and system messages always
stay. What was left out is told on standard error. If the last turn alone is too large,
that is an error. Tokens are estimated: 4 bytes of ASCII are one, any other character is
one, a message is 4 more, an image or file 1,600.

The same tape gives the same bytes, and what is appended only extends them (behind the
closing brackets), save that a result replaces the stand-in of its call. Bounds move the
beginning, by whole turns.`,
		Example: `  tape context
  tape context --from plan --max-tokens 100000
  tape context --format anthropic | jq '{model: "…", max_tokens: 1024, messages: .}'
  tape context --format anthropic --system`,
		Args: takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.changed = cmd.Flags().Changed
			return o.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.from, "from", "", "begin with this `ANCHOR` (default: the last one)")
	f.BoolVar(&o.noAnchor, "no-anchor", false, "leave out the messages that tell of anchors")
	f.StringVar(&o.format, "format", string(view.OpenAI), "the `FORMAT`: "+strings.Join(contextFormats(), " or "))
	f.BoolVar(&o.raw, "raw", false, "mend nothing: the literal messages, entry by entry")
	f.IntVar(&o.maxTokens, "max-tokens", 0, "leave out the oldest turns until the rest has at most about `N` tokens")
	f.IntVar(&o.maxBytes, "max-bytes", 0, "leave out the oldest turns until the array has at most `N` bytes")
	f.IntVar(&o.tail, "tail", 0, "keep the last `N` turns")
	f.BoolVar(&o.system, "system", false, "write what goes into the parameter system, in place of the messages (anthropic)")
	a.completeFlag(cmd, "from", a.completeAnchors)
	a.completeFlag(cmd, "format", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return contextFormats(), cobra.ShellCompDirectiveNoFileComp
	})
	return cmd
}

func contextFormats() []string {
	var out []string
	for _, f := range view.Formats() {
		out = append(out, string(f))
	}
	return out
}

// options turns the flags into what is asked of the view.
func (o *contextOptions) options() (view.Options, error) {
	out := view.Options{From: o.from, NoAnchor: o.noAnchor, Raw: o.raw, Format: view.Format(o.format),
		MaxTokens: o.maxTokens, MaxBytes: o.maxBytes}
	for _, flag := range []string{"max-tokens", "max-bytes"} {
		value := map[string]int{"max-tokens": o.maxTokens, "max-bytes": o.maxBytes}[flag]
		if o.changed(flag) && value < 1 {
			return out, usagef("--%s must be at least 1", flag)
		}
	}
	switch {
	case o.format == "":
		return out, usagef("--format is empty")
	case o.system && out.Format != view.Anthropic:
		return out, usagef("--system goes with --format anthropic; elsewhere system messages are among the others")
	}
	if o.changed("tail") {
		if o.tail < 0 {
			return out, usagef("--tail must not be negative")
		}
		out.Tail = repo.N(o.tail)
	}
	return out, nil
}

func (o *contextOptions) run(ctx context.Context) error {
	a := o.app
	opts, err := o.options()
	if err != nil {
		return err
	}
	t, err := a.openTape(ctx)
	if err != nil {
		return err
	}
	c, err := view.Build(ctx, t, opts)
	if err != nil {
		return err
	}
	if n := c.LeftOut; n.Turns > 0 {
		a.warn(fmt.Sprintf("left out %s (%s, about %s)", count(int64(n.Turns), "turn", "turns"), entries(n.Entries),
			count(int64(n.Tokens), "token", "tokens")))
	}
	if o.system {
		if c.System == nil {
			return a.writeArray([]byte("[]"))
		}
		return a.writeArray(c.System)
	}
	if c.System != nil {
		a.warn("system messages are not in the array; with --system they are written")
	}
	return a.writeArray(c.JSON())
}

// writeArray writes JSON as it is for programs, and indented and safe for people.
func (a *App) writeArray(array []byte) error {
	if a.json || !a.screen().out {
		return a.writeLine(array)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, array, "", "  "); err != nil {
		return err
	}
	a.page()
	return a.writeLine([]byte(safeText(b.String())))
}
