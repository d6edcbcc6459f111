for engine in $engines; do
    it "opens on request on $engine" opens 'door'
done
for engine in postgresql mariadb; do
    it "is locked on $engine, with a key" locked
done
