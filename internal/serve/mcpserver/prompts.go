package mcpserver

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func (s *server) addPrompts(out *mcp.Server) {
	add := func(name, description, argument, about string, required bool, text func(ctx context.Context, value string) (string, error)) {
		out.AddPrompt(&mcp.Prompt{Name: name, Description: description,
			Arguments: []*mcp.PromptArgument{{Name: argument, Description: about, Required: required}}},
			func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				value := req.Params.Arguments[argument]
				if required && strings.TrimSpace(value) == "" {
					return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the argument " + argument + " is missing: " + about}
				}
				content, err := text(ctx, value)
				if err != nil {
					return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: s.errorText(err)}
				}
				return &mcp.GetPromptResult{Description: description,
					Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: clip(content, maxChars)}}}}, nil
			})
	}
	add("resume", "Go on where a recorded session ended", "tape", "the session, default the current tape", false, s.resumePrompt)
	add("handoff", "Write down what the next session needs to know", "name", "the name of the anchor", false, s.handoffPrompt)
	add("recall", "Look up what was done about something before", "topic", "what it is about", true, recallPrompt)
}

func (s *server) resumePrompt(ctx context.Context, tape string) (string, error) {
	_, t, err := s.open(ctx, tape)
	if err != nil {
		return "", err
	}
	text, err := contextOf(ctx, t, contextArgs{MaxTokens: 6_000})
	return "Go on with the work of the session below. First say in a few lines what was done, what was decided and what is open, " +
		"with @ids; check that it still holds; then ask before you change anything. tape_read shows more of it.\n\n" + text, err
}

func (s *server) handoffPrompt(_ context.Context, name string) (string, error) {
	anchor := strconv.Quote(name)
	if name == "" {
		anchor = "(a short name for what comes next)"
	}
	text := "Hand this work over. Write a summary of at most 15 lines: the goal, what was done, what was decided and why, what failed, what is open, " +
		"and which files matter. "
	if s.Write {
		return text + "Then call tape_handoff with the name " + anchor +
			", this summary, and as its state the data that is worth keeping.", nil
	}
	return text + "Then show it to me: I record it as the anchor " + anchor + ".", nil
}

func recallPrompt(_ context.Context, topic string) (string, error) {
	return fmt.Sprintf("What was done, decided or tried before about %q? Search with tape_search, in different words, "+
		"read around the best hits with tape_read, and answer in a few lines. For each fact, name the tape and the @id. "+
		"Say so if nothing was recorded.", topic), nil
}
