import assert from 'node:assert/strict';
import { scaleOf, withReplicas } from '../../../apiserver/table/scale.ts';
import { aWidget, WIDGET } from '../../builders/widget.ts';

const mapping = WIDGET.scale ?? assert.fail('widgets can be scaled');

describe('the scale of an object', () => {
  it('takes its numbers from where the kind says', () => {
    const widget = aWidget({ spec: { replicas: 3 }, status: { replicas: 2, selector: 'app=demo' } });
    assert.deepEqual(scaleOf(widget, mapping), {
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      metadata: {
        name: 'w1',
        namespace: 'demo',
        uid: widget.metadata.uid,
        resourceVersion: '7',
        creationTimestamp: '2030-01-01T00:00:00Z',
      },
      spec: { replicas: 3 },
      status: { replicas: 2, selector: 'app=demo' },
    });
  });

  it('counts a status that says nothing as none', () => {
    assert.deepEqual(scaleOf(aWidget(), mapping).status, { replicas: 0 });
    const { labelSelectorPath: _, ...unselected } = mapping;
    const widget = aWidget({ status: { replicas: 1, selector: 'app=demo' } });
    assert.deepEqual(scaleOf(widget, unselected).status, { replicas: 1 });
  });

  it('is an error where no number is wanted', () => {
    assert.throws(() => scaleOf(aWidget({ spec: { size: 'small' } }), mapping), {
      reason: 'InternalError',
      message: 'the spec replicas field ".spec.replicas" does not exist',
    });
  });

  it('changes the wanted number and nothing else', () => {
    const before = aWidget({ spec: { size: 'small', replicas: 1 } });
    const after = withReplicas(before, mapping, 5);
    assert.deepEqual(after, { ...before, spec: { size: 'small', replicas: 5 } });
    assert.deepEqual(before.spec, { size: 'small', replicas: 1 });
    assert.deepEqual(withReplicas(aWidget({ spec: null }), mapping, 2).spec, { replicas: 2 });
  });
});
