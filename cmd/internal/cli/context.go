package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tape/internal/show/display"
	"tape/repo"
	"tape/repo/view"
)

type contextOptions struct {
	app    *App
	view   view.Options
	format string
	tail   int
	system bool
	asPage bool
}

func newContextCmd(a *App) *cobra.Command { return newContextCmdFor(&contextOptions{app: a}) }

func newContextCmdFor(o *contextOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "context [--from ANCHOR] [--format FORMAT] [--max-tokens N] [flags]",
		Short: "Write the messages for the next model call",
		Long: `Write the messages for the next model call as one JSON array: the last anchor with its state,
then the entries after it.

An anchor covers the entries that its writer had seen. A merge or pull can bring in other
entries from before the anchor. They come right after the anchor, in the order of the session,
until a later handoff covers them. With --from, the context is the given anchor and everything
after it.

Providers accept the array as it is. Tool results follow their calls. A call without a result
gets one that says it was interrupted; a result without its call becomes a message that says
so. A repeated system message is kept once. Entries of kind system, event and error are left
out, and so are entries with context:false in meta. Incomplete messages, calls and results are
left out and named on standard error. With --raw nothing is repaired: each entry gives its
message as it was recorded.

For anthropic, consecutive messages of the same side become one message with several blocks,
anchors are user messages, and system messages are not in the array: --system writes them, as
the array of text blocks for the parameter system.

--max-tokens and --max-bytes leave out the oldest turns; --tail keeps only the last ones. A
turn begins with a user message; the opening anchor and system messages always stay. Standard
error says how much was left out. If the last turn alone is too large, that is an error. Tokens
are estimated: 4 bytes of ASCII are one token, any other character is one, each message adds 4,
an image, audio or file 1,600.

The same session gives the same bytes. Appending only adds messages at the end, except that a
result replaces the placeholder of its call. With a limit, only whole turns at the beginning
are left out.

--brief writes a page for people and other agents instead, to paste as a first prompt.`,
		Example: `  tape context
  tape context --from plan --max-tokens 100000
  tape context --format anthropic | jq '{model: "…", max_tokens: 1024, messages: .}'
  tape context --format anthropic --system
  tape context --brief --tape 3`,
		PreRunE: func(cmd *cobra.Command, _ []string) error { return o.check(cmd.Flags().Changed) },
		RunE:    o.app.onTape(o.run),
	}
	f := cmd.Flags()
	f.StringVar(&o.view.From, "from", "", "begin with this `ANCHOR` (default: the last one)")
	f.BoolVar(&o.view.NoAnchor, "no-anchor", false, "leave out the messages that stand for anchors")
	f.StringVar(&o.format, "format", string(view.OpenAI), "the `FORMAT`: "+strings.Join(contextFormats(), " or "))
	f.BoolVar(&o.view.Raw, "raw", false, "repair nothing: write the literal messages, entry by entry")
	f.IntVar(&o.view.MaxTokens, "max-tokens", 0, "leave out the oldest turns until the rest has at most about `N` tokens")
	f.IntVar(&o.view.MaxBytes, "max-bytes", 0, "leave out the oldest turns until the array has at most `N` bytes")
	f.IntVar(&o.tail, "tail", 0, "keep the last `N` turns")
	f.BoolVar(&o.system, "system", false, "write the value of the parameter system instead of the messages (anthropic)")
	f.BoolVar(&o.asPage, "brief", false, "write a page to paste into another agent")
	exclude(cmd, "brief", "from", "no-anchor", "format", "raw", "max-tokens", "max-bytes", "tail", "system")
	completeFlag(cmd, "format", completeWords(contextFormats()...))
	return cmd
}

func contextFormats() []string {
	return namesOf(view.Formats(), func(f view.Format) string { return string(f) })
}

// check completes the options of the view, and refuses those that contradict each other.
func (o *contextOptions) check(changed func(flag string) bool) error {
	o.view.Format = view.Format(o.format)
	switch {
	case changed("max-tokens") && o.view.MaxTokens < 1:
		return usagef("--max-tokens must be at least 1")
	case changed("max-bytes") && o.view.MaxBytes < 1:
		return usagef("--max-bytes must be at least 1")
	case o.format == "":
		return usagef("--format is empty")
	case o.system && o.view.Format != view.Anthropic:
		return usagef("--system goes with --format anthropic; elsewhere system messages are among the others")
	case o.tail < 0:
		return usagef("--tail must not be negative")
	case changed("tail"):
		o.view.Tail = repo.N(o.tail)
	}
	return nil
}

func (o *contextOptions) run(ctx context.Context, t *repo.Tape, _ []string) error {
	if o.asPage {
		return o.page(ctx, t)
	}
	c, err := view.Build(ctx, t, o.view)
	if err != nil {
		return err
	}
	if n := c.LeftOut; n.Turns > 0 {
		o.app.Warn(fmt.Sprintf("left out %s (%s, about %s)", display.Count(n.Turns, "turn", "turns"), display.Entries(n.Entries), display.Count(n.Tokens, "token", "tokens")))
	}
	if ids := c.Unusable; len(ids) > 0 {
		const most = 50
		text := fmt.Sprintf("left out %s as incomplete: %s", display.Entries(len(ids)), display.IDs(ids[:min(len(ids), most)]))
		if n := len(ids) - most; n > 0 {
			text += " and " + display.Count(n, "other", "others")
		}
		o.app.Warn(text)
	}
	if o.system {
		if c.System == nil {
			return o.app.writeArray([]byte("[]"))
		}
		return o.app.writeArray(c.System)
	}
	if c.System != nil {
		o.app.Warn("the array has no system messages; --system writes them")
	}
	return o.app.writeArray(c.JSON())
}

// page writes what an agent needs to go on with the session.
func (o *contextOptions) page(ctx context.Context, t *repo.Tape) error {
	text, err := o.app.brief(ctx, t)
	if err != nil {
		return err
	}
	o.app.Page()
	o.app.Printf("%s", text)
	return o.app.Written()
}

// writeArray writes JSON: unchanged for programs, indented and safe to show for people.
func (a *App) writeArray(array []byte) error {
	if a.JSON || !a.Screen().Out {
		return a.WriteLine(array)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, array, "", "  "); err != nil {
		return err
	}
	a.Page()
	return a.WriteLine([]byte(display.Text(b.String())))
}
