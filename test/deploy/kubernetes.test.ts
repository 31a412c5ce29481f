// The manifests and the chart: Kubernetes knows every field, both say the same, and they fit the image and the gateway.
import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { stringify } from 'yaml'
import { filesBelow, readRepositoryFile, repositoryPath } from '../helpers/repository.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'
import { checked, documents, longestEndMs, version } from './deployment.ts'
import { looksInto } from './looks-into.ts'

interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly labels: Record<string, string> }
  readonly spec: any
  readonly data?: Readonly<Record<string, string>>
}

/** helm where it is, else Go's templates with helm's functions (see install-servers.sh). */
function render(values?: string): Manifest[] {
  const chart = repositoryPath('deploy/helm/oncegate')
  const found = (process.env.PATH ?? '').split(':').some((folder) => names(folder).includes('helm'))
  const [command, args] = found
    ? ['helm', ['template', 'oncegate', chart, ...(values === undefined ? [] : ['--values', values])]]
    : ['go', ['run', repositoryPath('test/deploy/render-chart.go'), chart, 'oncegate', ...(values === undefined ? [] : [values])]]
  const env = { ...process.env, GO111MODULE: 'off', GOPATH: '/usr/share/gocode' }
  return documents<Manifest>(execFileSync(command as string, args as string[], { encoding: 'utf8', env }))
}

function names(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/** What is wrong with it, in the words of Kubernetes' own schema; fields that the schema does not know, too. */
async function wrongs(manifest: Manifest): Promise<string[]> {
  const { apiVersion, kind } = manifest
  const models = (await import(`kubernetes-models/${apiVersion}/${kind}`)) as Record<string, new (data: object) => { validate(): void }>
  const { looked, unseen } = looksInto(manifest)
  try {
    models[kind]!.prototype.validate.call(looked)
  } catch (error) {
    return [`${kind}: ${(error as Error).message}`]
  }
  return unseen().map((path) => `${kind}: no such field: ${path}`)
}

const plain = filesBelow('deploy/kubernetes').flatMap((file) => documents<Manifest>(readRepositoryFile(`deploy/kubernetes/${file}`)))
const one = (all: readonly Manifest[], kind: string) => all.find((manifest) => manifest.kind === kind)!

t.test('Kubernetes knows every field of the manifests, and would say so of a wrong one', async (t) => {
  t.same(plain.map(({ kind }) => kind).toSorted(), [
    'ConfigMap',
    'Deployment',
    'HorizontalPodAutoscaler',
    'NetworkPolicy',
    'PodDisruptionBudget',
    'Service',
  ])
  for (const manifest of plain) t.same(await wrongs(manifest), [])
  const misspelt = structuredClone(one(plain, 'Deployment'))
  misspelt.spec.template.spec.containers[0].livenesProbe = {}
  t.match(await wrongs(misspelt), [/livenesProbe/])
  misspelt.spec.template.spec.containers[0].ports[0].containerPort = 'http'
  t.match(await wrongs(misspelt), [/containerPort must be integer/])
})

t.test('the chart gives what the manifests say', async (t) => {
  const rendered = render().map((manifest) => {
    const { 'helm.sh/chart': chart, 'app.kubernetes.io/managed-by': by, ...labels } = manifest.metadata.labels
    t.same([chart, by], [`oncegate-${version}`, 'Helm'])
    return { ...manifest, metadata: { ...manifest.metadata, labels } }
  })
  const sorted = (all: readonly Manifest[]) => all.toSorted((a, b) => a.kind.localeCompare(b.kind))
  t.same(sorted(rendered), sorted(plain))
})

t.test('whatever is set in the chart reaches the manifests', async (t) => {
  const directory = await temporaryDirectory()
  t.teardown(() => directory.remove())
  const values = join(directory.path, 'values.yaml')
  await writeFile(
    values,
    stringify({
      image: { repository: 'registry.example/oncegate', tag: '9' },
      imagePullSecrets: [{ name: 'pull' }],
      replicas: 3,
      autoscaling: { enabled: false },
      podDisruptionBudget: { enabled: false },
      networkPolicy: { enabled: false },
      podMonitor: { enabled: true },
      env: [{ name: 'ONCEGATE_LOG_LEVEL', value: 'warn' }],
      nodeSelector: { disk: 'fast' },
      tolerations: [{ key: 'edge', operator: 'Exists' }],
      preStopSeconds: 10,
    }),
  )
  const rendered = render(values)
  t.same(rendered.map(({ kind }) => kind).toSorted(), ['ConfigMap', 'Deployment', 'PodMonitor', 'Service'])
  for (const manifest of rendered.filter(({ kind }) => kind !== 'PodMonitor')) t.same(await wrongs(manifest), [])
  t.match(one(rendered, 'Deployment').spec, {
    replicas: 3,
    template: {
      spec: {
        imagePullSecrets: [{ name: 'pull' }],
        nodeSelector: { disk: 'fast' },
        tolerations: [{ key: 'edge' }],
        containers: [
          {
            image: 'registry.example/oncegate:9',
            env: [{ value: 'warn' }],
            lifecycle: { preStop: { exec: { command: ['sleep', '10'] } } },
          },
        ],
      },
    },
  })
})

t.test('the pods fit the image and the gateway', async (t) => {
  const pod = one(plain, 'Deployment').spec.template.spec
  const [container] = pod.containers
  t.equal(container.image, `oncegate:${version}`)
  const config = checked(one(plain, 'ConfigMap').data!['oncegate.yaml']!)
  t.same(
    container.ports.map(({ name, containerPort }: { name: string; containerPort: number }) => [name, containerPort]),
    [
      ['http', config.listen.port],
      ['admin', config.admin.port],
    ],
  )
  const mount = (name: string) => container.volumeMounts.find((volume: { name: string }) => volume.name === name)
  t.match(container.args, ['start', '--config', `${mount('config').mountPath}/oncegate.yaml`])
  t.notOk('subPath' in mount('config'), 'the folder is mounted: a change is seen')
  t.match(readRepositoryFile('Dockerfile'), new RegExp(`^VOLUME ${mount('data').mountPath}$`, 'm'))
  t.same(
    [container.livenessProbe.httpGet, container.readinessProbe.httpGet],
    [
      { path: '/healthz', port: 'admin' },
      { path: '/readyz', port: 'admin' },
    ],
  )
  const preStopMs = Number(container.lifecycle.preStop.exec.command[1]) * 1000
  t.ok(pod.terminationGracePeriodSeconds * 1000 > preStopMs + longestEndMs(config), 'nobody kills a gateway that still ends its work')
  t.same([pod.securityContext.runAsNonRoot, container.securityContext.readOnlyRootFilesystem], [true, true])
})

t.test('only who scrapes gets to the admin port, and everything is about the same pods', async (t) => {
  const labels = one(plain, 'Deployment').spec.template.metadata.labels
  const selectors = ['Deployment', 'PodDisruptionBudget'].map((kind) => one(plain, kind).spec.selector.matchLabels)
  for (const selector of [...selectors, one(plain, 'Service').spec.selector, one(plain, 'NetworkPolicy').spec.podSelector.matchLabels])
    t.same(selector, labels)
  t.equal(one(plain, 'HorizontalPodAutoscaler').spec.scaleTargetRef.name, one(plain, 'Deployment').metadata.name)
  const { ingress, policyTypes } = one(plain, 'NetworkPolicy').spec
  t.same(policyTypes, ['Ingress'])
  for (const { ports, from } of ingress) if (JSON.stringify(ports).includes('admin') || ports === undefined) t.ok(from?.length > 0)
  t.same(
    one(plain, 'Service').spec.ports.map(({ targetPort }: { targetPort: string }) => targetPort),
    ['http'],
  )
})
