package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/crypto/ssh"

	"weft/internal/hint"
	"weft/internal/outfile"
	"weft/internal/report"
	"weft/internal/sshsig"
	"weft/plan"
)

// bundleSuffix is how the name of a bundle ends.
const bundleSuffix = ".tar.gz"

// eventBundle is the event of a bundle that was checked.
const eventBundle plan.EventType = "bundle"

// bundling is where a bundle is written, and who signs it.
type bundling struct{ file, key string }

// writeBundle puts a report and all that it was made of in one file.
func (c *reportCommand) writeBundle(ctx context.Context, r *report.Report, b bundling) error {
	name := filepath.Base(b.file)
	if b.file != "" && !isFile(c.opts.inDir(b.file)) {
		name = "report" + bundleSuffix // of the folder within
	}
	switch {
	case b.file == "":
		return usage(hint.Wrap(errors.New("--sign: only a bundle is signed"), "weft report --bundle report.tar.gz --sign %s", b.key))
	case !strings.HasSuffix(name, bundleSuffix) || name == bundleSuffix:
		return usage(fmt.Errorf("--bundle %s: the name of a bundle ends in %s", b.file, bundleSuffix))
	}
	files, err := c.bundled(ctx, r)
	if err != nil {
		return err
	}
	var sign func([]byte) ([]byte, error)
	if b.key != "" {
		sign = func(text []byte) ([]byte, error) { return signText(ctx, b.key, report.SignedFor, text) }
	}
	var out bytes.Buffer
	if err := report.Bundle(&out, strings.TrimSuffix(name, bundleSuffix), r.Made, files, sign); err != nil {
		return err
	}
	if err := c.out.write(ctx, c.opts.inDir(b.file), out.Bytes(), outfile.Options{Secret: true}); err != nil {
		return hint.Wrap(fmt.Errorf("write the bundle: %w", err), "%s", hint.Of(err))
	}
	c.out.emit(plan.Event{Type: plan.EventHeartbeat, Message: fmt.Sprintf("wrote %s: %d files", b.file, len(files)), Data: map[string]any{"file": b.file, "bytes": out.Len(), "signed": b.key != ""}})
	return nil
}

// bundled are the files of a bundle: the report with all its faces, and of its run the
// plan, the trail and the journal.
func (c *reportCommand) bundled(ctx context.Context, r *report.Report) (files []report.File, err error) {
	for _, face := range []struct {
		name  string
		write func(io.Writer) error
	}{{"report.html", r.HTML}, {"report.md", r.Markdown}, {"report.xml", r.JUnit}, {"report.json", r.JSON}} {
		var text bytes.Buffer
		if err := face.write(&text); err != nil {
			return nil, err
		}
		files = append(files, report.File{Name: face.name, Text: text.Bytes()})
	}
	if r.Run == nil {
		return files, nil
	}
	rec, err := c.store.records().Named(ctx, r.Run.ID, c.opts.lab) // and not the latest, which may be another by now
	if err != nil {
		return nil, err
	}
	text, err := rec.PlanText(ctx)
	if err != nil {
		return nil, err
	}
	files = append(files, report.File{Name: "plan.weftplan", Text: text})
	trail, err := rec.Audit(ctx)
	if err != nil {
		return nil, err
	}
	files = append(files, report.File{Name: "audit.jsonl", Text: append(bytes.Join(trail, []byte("\n")), '\n')})
	journal, err := rec.Journal(ctx)
	if err != nil {
		return nil, err
	}
	text, err = io.ReadAll(journal)
	return append(files, report.File{Name: "journal.jsonl", Text: text}), err
}

// A reportCheckCommand is weft report check.
type reportCheckCommand struct {
	opts *options
	out  *printer
}

func (rep *reportCheckCommand) command() *cobra.Command {
	var signers string
	cmd := &cobra.Command{
		Use: "check BUNDLE", Short: "Verify the checksums and signature of a bundle", Args: exactly("BUNDLE"),
		Long: `check verifies a BUNDLE written by weft report --bundle: the checksum of each file, and
the signature of the checksums. It exits with 3 if a file was changed, removed or added,
or if the signature is invalid. With --require-signature it also exits with 3 if none of
the ALLOWED_SIGNERS has signed.`,
		RunE: rep.out.does(func(_ context.Context, args []string) error { return rep.checkBundle(args[0], signers) }),
	}
	cmd.Flags().StringVar(&signers, "require-signature", "", "require a signature by a key in this ALLOWED_SIGNERS file (ssh-keygen(1))")
	return cmd
}

func (rep *reportCheckCommand) checkBundle(path, allowed string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var signers sshsig.Signers
	if allowed != "" {
		if signers, err = allowedSigners(allowed); err != nil {
			return err
		}
	}
	refuse := func(err error) error { return &codeError{exitFailed, fmt.Errorf("%s: %w", path, err)} }
	c, err := report.CheckBundle(f)
	if err != nil {
		return refuse(err)
	}
	by, key := "it has no signature", ""
	switch {
	case c.Signature != nil:
		k, err := sshsig.Verify(c.Signature, c.Sums, report.SignedFor)
		if err != nil {
			return refuse(fmt.Errorf("its signature does not hold: %w", err))
		}
		key = ssh.FingerprintSHA256(k)
		by = "signed with the key " + key + ", which was held against no list: --require-signature names one"
		if allowed != "" {
			who, err := signers.Allow(k, report.SignedFor, time.Now())
			if err != nil {
				return refuse(err)
			}
			by = "signed by " + who.String() + " (" + key + ")"
		}
	case allowed != "":
		return refuse(errors.New("it is not signed"))
	}
	if rep.opts.json {
		rep.out.emit(plan.Event{Type: eventBundle, Message: path + " is whole", Data: map[string]any{"files": c.Files, "key": key, "signed": by}})
		return nil
	}
	_, err = fmt.Fprintf(rep.out.stdout, "%s is whole: %s; %s.\n", path, strings.Join(c.Files, ", "), by)
	return err
}
