package vcenter

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/task"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"weft/internal/hint"
	"weft/internal/wait"
)

// A Login is how a vCenter is reached, and as whom.
type Login struct {
	Host     string
	Port     int
	SHA256   string // of its certificate, 64 hexadecimal digits; "": authorities of this machine vouch for it
	User     string
	Password func() (string, error)
	From     string        // where it is declared, for messages; "": nowhere
	Answer   time.Duration // that vCenter may take to answer a request; 0: answerTime
	Refused  error         // why none may be asked; nil: they may
	Settle   time.Duration // that hosts may take to talk to each other in another way, and at most what a new lease waits; 0: settleTime
	Task     time.Duration // that vCenter may take to carry out a task; 0: taskTime
}

// How long vCenter may take.
const (
	answerTime = time.Minute           // to answer a request
	taskTime   = 5 * time.Minute       // to carry out a task
	settleTime = 3 * time.Minute       // until hosts of a cluster use the transport that it is told
	blipTime   = 30 * time.Second      // without an answer, while a task is waited for
	firstLook  = 10 * time.Millisecond // pause after the first look at a task
	lastLook   = 2 * time.Second       // the longest one
	mark       = "weft"                // the custom attribute that says whose an object is
)

// A client is a session with vCenter.
type client struct {
	vim    *vim25.Client
	vsan   *soap.Client // its service for vSAN
	sm     *session.Manager
	settle time.Duration
	task   time.Duration
}

// connect logs in.
func (l Login) connect(ctx context.Context) (*client, error) {
	if l.Refused != nil {
		return nil, l.Refused
	}
	u := &url.URL{Scheme: "https", Host: net.JoinHostPort(l.Host, strconv.Itoa(l.Port)), Path: "/sdk"}
	s := soap.NewClient(u, false)
	s.Timeout = cmp.Or(l.Answer, answerTime)
	if l.SHA256 != "" {
		config := s.DefaultTransport().TLSClientConfig
		config.InsecureSkipVerify = true // the certificate itself is declared
		config.VerifyConnection = l.same
	}
	vim, err := vim25.NewClient(ctx, s)
	if err != nil {
		return nil, l.unreached(err)
	}
	if vim.ServiceContent.About.ApiType != "VirtualCenter" {
		return nil, hint.Wrap(fmt.Errorf("%s is no vCenter: it says that it is %s", l.Host, vim.ServiceContent.About.FullName), "an ESXi host is a server block with os = \"esxi\"")
	}
	password, err := l.Password()
	if err != nil {
		return nil, err
	}
	c := &client{vim: vim, sm: session.NewManager(vim), settle: cmp.Or(l.Settle, settleTime), task: cmp.Or(l.Task, taskTime)}
	if err := c.sm.Login(ctx, url.UserPassword(l.User, password)); err != nil {
		if fault.Is(err, &types.InvalidLogin{}) {
			return nil, l.turnedAway(err)
		}
		return nil, fmt.Errorf("log in to %s: %s", l.Host, said(err))
	}
	c.vsan = vim.NewServiceClient(vsanPath, vsanNamespace) // it takes over the session
	return c, nil
}

// turnedAway is a login that vCenter does not take.
func (l Login) turnedAway(err error) error {
	advice := "users of vCenter have their domain behind them, as administrator@vsphere.local; one that was refused often is locked out for a while"
	if l.From != "" {
		advice = fmt.Sprintf("are user and password those of %s? %s", l.From, advice)
	}
	return hint.Wrap(fmt.Errorf("%s does not let %s in: %s", l.Host, l.User, said(err)), "%s", advice)
}

// same refuses another certificate than the declared one.
func (l Login) same(state tls.ConnectionState) error {
	if len(state.PeerCertificates) == 0 {
		return errors.New("it shows no certificate")
	}
	sum := sha256.Sum256(state.PeerCertificates[0].Raw)
	if is := hex.EncodeToString(sum[:]); is != l.SHA256 {
		return &certificateError{is, l.SHA256}
	}
	return nil
}

type certificateError struct{ is, declared string }

func (e *certificateError) Error() string {
	return "another certificate: its SHA-256 is " + e.is + ", declared " + e.declared
}

// unreached says more about a vCenter that could not be asked.
func (l Login) unreached(err error) error {
	err = fmt.Errorf("%s, port %d: %w", l.Host, l.Port, err)
	var unknown *tls.CertificateVerificationError
	switch {
	case errors.As(err, new(*certificateError)):
		return hint.Wrap(err, "if its certificate was renewed on purpose, change tls_sha256; nothing was sent to it")
	case errors.As(err, &unknown):
		if certs := unknown.UnverifiedCertificates; len(certs) > 0 {
			sum := sha256.Sum256(certs[0].Raw)
			return hint.Wrap(err, "no trusted authority signed its certificate: if it is correct, set tls_sha256 = %q", hex.EncodeToString(sum[:]))
		}
	}
	return err
}

func (c *client) end(ctx context.Context) error { return c.sm.Logout(ctx) }

// said is what vCenter says of a failure, with the name of the fault.
func said(err error) string {
	for e := err; e != nil; e = errors.Unwrap(e) {
		if f, ok := e.(interface{ Fault() types.BaseMethodFault }); ok && f.Fault() != nil {
			return withFault(err.Error(), f.Fault())
		}
		if !soap.IsSoapFault(e) {
			continue
		}
		fault, text := soap.ToSoapFault(e), err.Error()
		if e == err && fault.Code == serverFault {
			text = strings.TrimSpace(fault.String)
		}
		if detail := fault.VimFault(); detail != nil {
			return withFault(text, detail)
		}
		return text
	}
	return err.Error()
}

// serverFault is the code of all faults of vCenter.
const serverFault = "ServerFaultCode"

// withFault adds the name of a fault to its text.
func withFault(text string, fault any) string {
	kind := reflect.TypeOf(fault)
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	if text == kind.Name() {
		return text
	}
	return text + " (" + kind.Name() + ")"
}

// wait is until a task has been carried out.
func (c *client) wait(ctx context.Context, task types.ManagedObjectReference) error {
	return c.waitFor(ctx, task, c.task)
}

// waitFor looks again and again: vCenter answers a request that waits for a change only when
// there is one, which of a host that is emptied may be later than a request may take. A network
// that is away for a moment ends nothing.
func (c *client) waitFor(ctx context.Context, ref types.ManagedObjectReference, most time.Duration) error {
	bounded, done := context.WithTimeout(ctx, most)
	defer done()
	pc, heard := property.DefaultCollector(c.vim), time.Now()
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		var t mo.Task
		err := pc.RetrieveOne(bounded, ref, []string{"info"}, &t)
		switch {
		case err == nil && t.Info.State == types.TaskInfoStateSuccess:
			return nil
		case err == nil && t.Info.State == types.TaskInfoStateError:
			if t.Info.Error == nil {
				return fmt.Errorf("the task %s failed, and does not say why", ref.Value)
			}
			return task.Error{LocalizedMethodFault: t.Info.Error, Description: t.Info.Description}
		case err == nil:
			heard = time.Now()
		case bounded.Err() == nil && (soap.IsSoapFault(err) || time.Since(heard) > blipTime):
			return err
		}
		if wait.For(bounded, pause) {
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return hint.Wrap(fmt.Errorf("the task %s is not done after %v", ref.Value, most), "it may go on in vCenter: see Recent Tasks there")
	}
}

// own marks an object as an owner's; with an empty text it is nobody's.
func (c *client) own(ctx context.Context, of types.ManagedObjectReference, text string) error {
	return c.note(ctx, mark, of, text)
}

// at is the object at a path of the inventory; nil: there is none.
func (c *client) at(ctx context.Context, path string) (object.Reference, error) {
	return object.NewSearchIndex(c.vim).FindByInventoryPath(ctx, "/"+path)
}
