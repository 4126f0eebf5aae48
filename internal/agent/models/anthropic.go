package models

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"tape/hooks"
	"tape/repo/view"
)

type anthropicRequest struct {
	Model     string            `json:"model"`
	MaxTokens int               `json:"max_tokens"`
	System    string            `json:"system,omitempty"`
	Messages  []json.RawMessage `json:"messages"`
	Tools     []anthropicTool   `json:"tools,omitempty"`
	Stream    bool              `json:"stream"`
}

type anthropicTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"input_schema"`
}

func (p *provider) askAnthropic(ctx context.Context, model string, r Request, a *answer) error {
	const defaultMax = 8192 // the API requires a number
	body := anthropicRequest{Model: model, MaxTokens: defaultMax, System: r.System, Messages: r.Messages, Stream: true}
	if r.MaxTokens > 0 {
		body.MaxTokens = r.MaxTokens
	}
	for _, t := range r.Tools {
		body.Tools = append(body.Tools, anthropicTool{view.ToolName(t.Name), t.Description, schema(t)})
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	ctx, silence := withSilenceLimit(ctx, p.silence)
	defer silence.stop()
	service := anthropic.NewMessageService(option.WithBaseURL(p.baseURL), option.WithHTTPClient(silence.client()))
	options := []option.RequestOption{option.WithRequestBody("application/json", raw), option.WithMaxRetries(retries)}
	if p.key != "" {
		options = append(options, option.WithAPIKey(p.key))
	}
	stream := service.NewStreaming(ctx, anthropic.MessageNewParams{}, options...)
	defer stream.Close()
	blocks := anthropicBlocks{answer: a, calls: map[int64]int{}}
	for stream.Next() {
		if err := blocks.handle(stream.Current()); err != nil {
			return err
		}
	}
	return silence.cause(ctx, stream.Err())
}

// anthropicBlocks collects an answer, which Anthropic sends in numbered blocks.
type anthropicBlocks struct {
	*answer
	calls map[int64]int // the indexes of calls in the answer, by block
	input int64
}

// errStopReason stands for Anthropic's stop reason for an overflow. Other providers send an error.
var errStopReason = errors.New("the model stopped: model_context_window_exceeded")

func (b *anthropicBlocks) handle(e anthropic.MessageStreamEventUnion) error {
	switch e.Type {
	case "message_start":
		u := e.Message.Usage
		b.input = u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens
		b.usage = map[string]any{"input_tokens": b.input, "output_tokens": u.OutputTokens, "cached_tokens": u.CacheReadInputTokens}
	case "content_block_start":
		if e.ContentBlock.Type == "tool_use" {
			b.calls[e.Index] = len(b.answer.calls)
			t, err := b.toolCall(len(b.answer.calls))
			if err != nil {
				return err
			}
			t.id, t.name = e.ContentBlock.ID, e.ContentBlock.Name
		}
		return b.addDelta(hooks.EventText, e.ContentBlock.Text)
	case "content_block_delta":
		switch e.Delta.Type {
		case "text_delta":
			return b.addDelta(hooks.EventText, e.Delta.Text)
		case "thinking_delta":
			return b.addDelta(hooks.EventReasoning, e.Delta.Thinking)
		case "input_json_delta":
			if i, ok := b.calls[e.Index]; ok {
				return b.answer.calls[i].addArguments(e.Delta.PartialJSON)
			}
		}
	case "message_delta":
		if b.usage != nil {
			b.usage["output_tokens"] = e.Usage.OutputTokens
		}
		if e.Delta.StopReason == "model_context_window_exceeded" {
			return errStopReason
		}
	}
	return nil
}
