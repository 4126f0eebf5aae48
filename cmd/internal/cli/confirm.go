package cli

import (
	"bufio"
	"context"
	"fmt"
	"strings"
)

// canAsk reports whether somebody is there to answer a question.
func (a *App) canAsk() bool { return isTerminal(a.Stdin) && isTerminal(a.Stderr) }

// confirm asks on the terminal, and returns an error unless the answer is yes.
func (a *App) confirm(ctx context.Context, format string, args ...any) error {
	fmt.Fprintf(a.Stderr, format+" [y/N] ", args...)
	in, end := newInput(ctx, a.Stdin)
	defer end()
	answer, err := bufio.NewReader(in).ReadString('\n')
	if ctx.Err() != nil {
		return ctx.Err()
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	if err != nil {
		fmt.Fprintln(a.Stderr)
	}
	return &cliError{msg: "nothing was changed"}
}
